//! Results of an earlier run that stand for those of a later one: what was asked is the same, and came to something.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_sdk::runs::{
    self, Effect, StepId, StepRequest, StepResult,
    workflow_step::{StepEnd, is_undo, undone_by},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::waiting::EventQuery;
use crate::model::{Graph, Workflow};

/// A step of an earlier run that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reused {
    /// The request.
    pub(crate) what: StepRequest,
    /// Its result.
    pub(crate) result: StepResult,
}

impl Reused {
    /// True if the step asks for the same, so that the result is its result.
    pub(super) fn stands_for(&self, step: &runs::Step) -> bool {
        // What failed is done again.
        if StepEnd::of(&self.result) != StepEnd::Completed {
            return false;
        }
        match (&self.what, &step.effect) {
            (StepRequest::Delegated(sent), Effect::Delegate(wanted)) => {
                let sent = &sent.handoff;
                (&sent.agent, &sent.capability, &sent.text, &sent.payload)
                    == (
                        &wanted.agent,
                        &wanted.capability,
                        &wanted.text,
                        &wanted.payload,
                    )
            }
            (StepRequest::ApprovalAsked(asked), Effect::Approve(wanted)) => {
                (&asked.subject, &asked.arguments) == (&wanted.subject, &wanted.arguments)
            }
            (StepRequest::Waiting { .. }, Effect::Wait(_)) => true,
            (StepRequest::ToolCalled(called), Effect::Call(wanted)) => {
                called.name == wanted.name
                    && event_of(&called.arguments) == event_of(&wanted.arguments)
            }
            _ => false,
        }
    }
}

/// The message that is waited for, wherever in the log it comes.
fn event_of(arguments: &Value) -> Option<EventQuery> {
    let query = EventQuery::deserialize(arguments).ok()?;
    Some(EventQuery {
        after: String::new(),
        ..query
    })
}

/// The results that stand before a step: all but those of the step and of the steps that depend on it. Without a step, all. None stands of a
/// step that was taken back, or was to be.
///
/// # Errors
///
/// There is no such step; in one line.
pub(crate) fn before(
    workflow: &Workflow,
    from: Option<&str>,
    mut steps: BTreeMap<StepId, Reused>,
) -> Result<BTreeMap<StepId, Reused>, String> {
    let undone: BTreeSet<String> = steps
        .keys()
        .filter_map(|id| undone_by(id).map(str::to_owned))
        .collect();
    let is_undone = |id: &StepId| {
        // Its attempts are parts of it.
        let id = id.as_str();
        let ends = id.match_indices('/').map(|(at, _)| at).chain([id.len()]);
        ends.into_iter().any(|end| undone.contains(&id[..end]))
    };
    steps.retain(|id, _| !is_undo(id) && !is_undone(id));
    let Some(from) = from else { return Ok(steps) };
    let graph = &workflow.graph;
    if !graph.steps.iter().any(|step| step.name == from) {
        let names: Vec<&str> = graph.steps.iter().map(|step| step.name.as_str()).collect();
        return Err(format!(
            "there is no step `{from}` to begin from: steps are {}",
            names.join(", ")
        ));
    }
    let again = behind(graph, from);
    steps.retain(|id, _| {
        let name = id.as_str().split('/').next().unwrap_or_default();
        !again.contains(name)
    });
    Ok(steps)
}

/// A step and those that depend on it. Each step stands behind those that it waits for.
fn behind<'g>(graph: &'g Graph, from: &'g str) -> BTreeSet<&'g str> {
    let mut again = BTreeSet::from([from]);
    for step in &graph.steps {
        let needs = step.needs.iter().map(|need| need.step.as_str());
        let mut waits = needs.chain(step.reads.iter().map(String::as_str));
        if waits.any(|on| again.contains(on)) {
            again.insert(&step.name);
        }
    }
    again
}
