//! Notes of decisions, skipped steps and items of loops with several steps, which otherwise leave nothing in the journal: those who watch see them as
//! they see other steps.
//!
//! A note is a frame of the type `step`. Decisions and skipped steps within loops have none, as there may be thousands of them.

use std::time::{Duration, SystemTime};

use agenthub_sdk::{
    proto::event,
    runs::{self, Effect, StepId},
};
use serde_json::{Value, json};

use super::evaluating::{Evaluation, State, WorkState};
use crate::{
    model::{Step, Work},
    scope::Scope,
};

impl Evaluation<'_> {
    /// Has it written down that a step was skipped, or how a decision was made.
    pub(super) fn tell(&mut self, step: &Step, name: &str, state: &State, scope: &Scope<'_>) {
        let State::Ended { value, at_ms, .. } = state else {
            return;
        };
        let (note, status, metadata) = match (&step.work, value.state) {
            (_, "skipped") => (
                format!("{name}/skipped"),
                "SKIPPED",
                json!({ "kind": kind(&step.work) }),
            ),
            (Work::Decide { .. }, "completed") if step.each.is_none() => {
                let decision = value.output.as_ref().map(|output| &output["decision"]);
                let metadata = json!({ "kind": "decision", "decision": decision });
                (format!("{name}/decided"), "COMPLETED", metadata)
            }
            _ => return,
        };
        let id = StepId::new(note.as_str());
        if scope.item().is_some() || self.facts.noted(&id).is_some() {
            return;
        }
        let frame = frame(self.run, name, status, *at_ms, metadata);
        self.told.push(runs::Step::new(note, Effect::Note(frame)));
    }

    /// Has it written down that an item of a loop with several steps has ended. Reasons of failures are those of its steps.
    pub(super) fn tell_item(&mut self, name: &str, work: &WorkState) {
        let (status, at_ms) = match work {
            WorkState::Working => return,
            WorkState::Completed { at_ms, .. } => ("COMPLETED", *at_ms),
            WorkState::Failed { at_ms, .. } => ("FAILED", *at_ms),
            WorkState::Cancelled { at_ms } => ("CANCELLED", *at_ms),
        };
        let note = format!("{name}/ended");
        if self.facts.noted(&StepId::new(note.as_str())).is_some() {
            return;
        }
        let frame = frame(self.run, name, status, at_ms, json!({ "kind": "steps" }));
        self.told.push(runs::Step::new(note, Effect::Note(frame)));
    }
}

fn frame(run: &str, name: &str, status: &str, at_ms: u64, metadata: Value) -> Value {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms);
    json!({
        "type": "step",
        "message": status,
        "data": {
            "runId": run,
            "step": name.split('/').next(),
            "stepName": name,
            "status": status,
            "timestamp": event::timestamp(at).to_string(),
            "metadata": metadata,
        },
    })
}

/// Kind of a step, as lists of steps name it.
fn kind(work: &Work) -> &'static str {
    match work {
        Work::Call(_) => "agent",
        Work::Wait(_) => "wait",
        Work::Event { .. } => "tool",
        Work::Approve { .. } => "person",
        Work::Decide { .. } => "decision",
        Work::Join(_) => "join",
        Work::Steps(_) => "steps",
    }
}
