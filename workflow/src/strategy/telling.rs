//! Notes of decisions, skipped steps, steps that failed before they began, items of loops with several steps, and the number of a loop's items, which
//! otherwise leave nothing in the journal: those who watch see them as they see other steps.
//!
//! A note is a frame of the type `step`, that of a number the number alone. Steps within loops that were decided, skipped or failed before they began have none, as there may be thousands
//! of them.

use std::time::{Duration, SystemTime};

use agenthub_sdk::{
    proto::event,
    runs::{
        self, Effect, StepId,
        workflow_step::{count_note_of, note, note_of},
    },
};
use serde_json::{Value, json};

use super::evaluating::{Evaluation, State, WorkState};
use crate::{
    model::{Step, Work},
    scope::Scope,
};

impl Evaluation<'_> {
    /// Notes that a step was skipped or has failed before it began, or how a decision was made.
    /// `behind` is the step that it needs and that failed, if one did.
    pub(super) fn tell(
        &mut self,
        (step, name): (&Step, &str),
        state: &State,
        behind: Option<&str>,
        scope: &Scope<'_>,
    ) {
        let State::Ended { value, at_ms, .. } = state else {
            return;
        };
        let (note, status, metadata) = match (&step.work, value.state) {
            (_, "skipped") => (
                note_of(name, note::SKIPPED),
                "SKIPPED",
                json!({ "kind": kind(&step.work) }),
            ),
            // What has begun ends in the journal by itself. This has not, as a value of it is none.
            (_, "failed") if !self.facts.has_begun(&StepId::new(name)) => (
                note_of(name, note::HAS_FAILED),
                "FAILED",
                failed(&step.work, value.error.as_deref(), behind),
            ),
            (Work::Decide { .. }, "completed") if step.each.is_none() => {
                let decision = value.output.as_ref().map(|output| &output["decision"]);
                let metadata = json!({ "kind": "decision", "decision": decision });
                (note_of(name, note::DECIDED), "COMPLETED", metadata)
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

    /// Notes that an item of a loop with several steps has ended. Reasons of failures are those of its steps.
    pub(super) fn tell_item(&mut self, name: &str, work: &WorkState) {
        let (status, at_ms) = match work {
            WorkState::Working => return,
            WorkState::Completed { at_ms, .. } => ("COMPLETED", *at_ms),
            WorkState::Failed { at_ms, .. } => ("FAILED", *at_ms),
            WorkState::Cancelled { at_ms } => ("CANCELLED", *at_ms),
        };
        let note = note_of(name, note::ENDED);
        if self.facts.noted(&StepId::new(note.as_str())).is_some() {
            return;
        }
        let frame = frame(self.run, name, status, at_ms, json!({ "kind": "steps" }));
        self.told.push(runs::Step::new(note, Effect::Note(frame)));
    }

    /// Notes the number of a loop's items, of which not all begin at once. Loops within loops have no such note, as there may be thousands.
    pub(super) fn tell_count(&mut self, name: &str, count: usize) {
        let id = StepId::new(count_note_of(name));
        if self.facts.noted(&id).is_none() {
            let note = runs::Step::new(id.as_str(), Effect::Note(count.into()));
            self.told.push(note);
        }
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

fn failed(work: &Work, error: Option<&str>, behind: Option<&str>) -> Value {
    let mut metadata = json!({ "kind": kind(work), "error": error });
    if let Some(behind) = behind {
        metadata["behind"] = behind.into();
    }
    metadata
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
