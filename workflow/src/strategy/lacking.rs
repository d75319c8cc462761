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
/// judges, or one for which another step, which asks for its state or error, has stood in.
pub(super) fn failures<'s>(
    graph: &'s Graph,
    states: &'s BTreeMap<&str, State>,
) -> impl Iterator<Item = (&'s str, &'s str)> {
    graph.steps.iter().filter_map(|step| {
        let error = match states.get(&*step.name)? {
            State::Ended {
                value,
                is_let_go: true,
                ..
            } if value.state == "failed" => value.error.as_deref().unwrap_or_default(),
            _ => return None,
        };
        let is_whole = step.is_contained || is_stood_in_for(&step.name, graph, states);
        (!is_whole).then_some((&*step.name, error))
    })
}

/// True if a step has completed whose `when`, or whose way from an `if`, asks how this one ended.
fn is_stood_in_for(name: &str, graph: &Graph, states: &BTreeMap<&str, State>) -> bool {
    let has_completed = |step: &Step| {
        let state = states.get(&*step.name);
        matches!(state, Some(State::Ended { value, .. }) if value.state == "completed")
    };
    let is_asking = |step: &Step| match &step.work {
        Work::Decide { condition, .. } => asks_for_end(condition, name),
        _ => false,
    };
    let decisions: Vec<&str> = graph
        .steps
        .iter()
        .filter(|step| is_asking(step))
        .map(|step| &*step.name)
        .collect();
    let is_on_way = |step: &Step| {
        let mut ways = step.needs.iter().filter(|need| need.branch.is_some());
        ways.any(|way| decisions.contains(&&*way.step))
    };
    let is_chosen = |step: &Step| {
        let asks = |when: &Expression| asks_for_end(when, name);
        step.when.as_ref().is_some_and(asks) || is_on_way(step)
    };
    let mut steps = graph.steps.iter();
    steps.any(|step| has_completed(step) && is_chosen(step))
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
