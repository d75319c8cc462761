//! Shortfall of a workflow: agents that gave a part, and steps that have failed and were gone on without.

use std::collections::BTreeMap;

use agenthub_sdk::{
    model::Undone,
    runs::{RunOutcome, Shortfall},
};
use serde_json::{Value, json};

use super::evaluating::State;
use crate::model::Graph;

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

/// The steps of a graph that have failed and that the workflow goes on without, each with its error; none whose failure a join judges.
/// Nobody can tell whether another step did in its place what was to be done.
pub(super) fn failures<'g>(
    graph: &'g Graph,
    states: &BTreeMap<&str, State>,
) -> Vec<(&'g str, String)> {
    let steps = graph.steps.iter().filter(|step| !step.is_contained);
    let failed = steps.filter_map(|step| match states.get(&*step.name)? {
        State::Ended {
            value,
            is_let_go: true,
            ..
        } if value.state == "failed" => {
            let error = value.error.clone().unwrap_or_default();
            Some((&*step.name, error))
        }
        _ => None,
    });
    failed.collect()
}
