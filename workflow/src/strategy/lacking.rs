//! Shortfall of a workflow: agents that gave a part, and steps that have failed and were gone on without.

use std::collections::BTreeMap;

use agenthub_sdk::{
    model::Undone,
    runs::{RunOutcome, Shortfall},
};
use serde_json::{Value, json};

use super::evaluating::State;
use crate::{
    expression::Expression,
    model::{Graph, Step, Work},
    scope::{Scope, StepValue},
};

/// The result with what it lacks, as some of the steps were done in part or have failed, or nobody read a part of the request.
pub(super) fn lacking(outcome: RunOutcome, results: Vec<Value>) -> RunOutcome {
    match outcome {
        RunOutcome::Completed { text, data, .. } if !results.is_empty() => RunOutcome::Completed {
            text,
            data,
            lacks: Some(Box::new(Shortfall::new(Some(Undone::Part), results))),
        },
        whole => whole,
    }
}

/// A step, or an item of a loop, that has failed and is gone on without, as a result of a shortfall.
pub(super) fn gone_without(step: &str, error: &str) -> Value {
    json!({"step": step, "state": "failed", "error": error})
}

/// The steps of a graph that have failed and that the workflow goes on without, each with its error. None of them is one whose failure a join
/// judges, or one for which another step, which is for that case alone, has stood in.
pub(super) fn failures<'g>(
    graph: &'g Graph,
    states: &BTreeMap<&str, State>,
    scope: &Scope<'g>,
) -> Vec<(&'g str, String)> {
    let steps = graph.steps.iter();
    let failed = steps.filter_map(|step| {
        let error = match states.get(&*step.name)? {
            State::Ended {
                value,
                is_let_go: true,
                ..
            } if value.state == "failed" => value.error.clone().unwrap_or_default(),
            _ => return None,
        };
        let is_whole = step.is_contained || is_stood_in_for(&step.name, graph, states, scope);
        (!is_whole).then_some((&*step.name, error))
    });
    failed.collect()
}

/// True if a step has completed whose `when`, or whose way from an `if`, asks how this one ended, and which would not be gone if it had completed.
fn is_stood_in_for<'g>(
    name: &'g str,
    graph: &'g Graph,
    states: &BTreeMap<&str, State>,
    scope: &Scope<'g>,
) -> bool {
    let has_completed = |step: &Step| {
        let state = states.get(&*step.name);
        matches!(state, Some(State::Ended { value, .. }) if value.state == "completed")
    };
    let completed = with_completed(name, scope);
    // What cannot be told is no stand-in.
    let otherwise = |expression: &Expression| {
        let asks = asks_for_end(expression, name);
        let value = expression.is_true(&completed.variables(expression));
        value.ok().filter(|_| asks)
    };
    let decision = |step: &str| {
        let mut steps = graph.steps.iter();
        match &steps.find(|other| other.name == step)?.work {
            Work::Decide { condition, .. } => otherwise(condition),
            _ => None,
        }
    };
    let is_on_way = |step: &Step| {
        let mut ways = step.needs.iter();
        ways.any(|way| {
            let branch = way.branch.zip(decision(&way.step));
            branch.is_some_and(|(taken, otherwise)| taken != otherwise)
        })
    };
    let is_chosen = |step: &Step| {
        let when = step.when.as_ref();
        when.is_some_and(|when| otherwise(when) == Some(false)) || is_on_way(step)
    };
    let mut steps = graph.steps.iter();
    steps.any(|step| has_completed(step) && is_chosen(step))
}

/// The scope as it would be if this step had completed.
fn with_completed<'g>(name: &'g str, scope: &Scope<'g>) -> Scope<'g> {
    let mut steps = scope.steps.clone();
    let completed = StepValue {
        state: "completed",
        output: Some(json!({})),
        error: None,
    };
    steps.insert(name, completed);
    Scope {
        input: scope.input,
        outer: scope.outer,
        item: scope.item.clone(),
        steps,
    }
}

/// True if an expression reads the state or the error of a step.
fn asks_for_end(expression: &Expression, step: &str) -> bool {
    let text = expression.to_string();
    ["state", "error"].iter().any(|field| {
        let quoted = ['"', '\''].map(|mark| format!("steps[{mark}{step}{mark}].{field}"));
        let paths = expression.paths();
        paths.contains(&format!("{step}.{field}"))
            || paths.contains(&format!("steps.{step}.{field}"))
            || quoted.iter().any(|quoted| text.contains(quoted))
    })
}
