//! Steps of a workflow as frames: what begins and what comes of it, with its name and its time (EXE-8).

use agenthub_proto::event;
use agenthub_sdk::runs::{StepId, StepRequest, StepResult};
use serde_json::{Value, json};

use super::Draft;

/// The strategy of workflows.
pub(super) const WORKFLOW: &str = "workflow";

/// Beginning of the names of steps that take others back.
const UNDO: &str = "undo/";

/// A step of a run, by its name: `draft`, `draft/try-2`, `draft/fallback`, `send/3/post`, `undo/draft`.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    /// The step of the workflow's file that it is part of.
    step: &'a str,
    /// Its name without the attempt.
    name: &'a str,
    attempt: u64,
}

impl<'a> Named<'a> {
    /// Nothing for what is no step of the workflow: pauses between attempts, and the time limit.
    fn of(id: &'a StepId) -> Option<Self> {
        let id = id.as_str();
        let last = id.rsplit('/').next().unwrap_or_default();
        if last.starts_with("pause-") || id == "time-limit" {
            return None;
        }
        let attempt = last.strip_prefix("try-").and_then(|n| n.parse().ok());
        let name = match attempt {
            Some(_) => id[..id.len() - last.len()].trim_end_matches('/'),
            None => id,
        };
        let whole = name.strip_prefix(UNDO).unwrap_or(name);
        Some(Self {
            step: whole.split('/').next().unwrap_or_default(),
            name,
            attempt: attempt.unwrap_or(1),
        })
    }
}

fn draft(run: &str, id: &StepId, status: &str, at_ms: u64, metadata: Value) -> Option<Draft> {
    let named = Named::of(id)?;
    let mut metadata = metadata;
    metadata["attempt"] = named.attempt.into();
    Some(Draft::new("step", status).data(json!({
        "runId": run,
        "step": named.step,
        "stepName": named.name,
        "status": status,
        "timestamp": timestamp(at_ms),
        "metadata": metadata,
    })))
}

fn timestamp(at_ms: u64) -> String {
    let since = std::time::Duration::from_millis(at_ms);
    event::timestamp(std::time::SystemTime::UNIX_EPOCH + since).to_string()
}

/// A step begins.
pub(super) fn begun(run: &str, id: &StepId, what: &StepRequest, at_ms: u64) -> Option<Draft> {
    let metadata = match what {
        StepRequest::Delegated(sent) => json!({
            "agent": sent.handoff.agent,
            "skill": sent.handoff.capability,
            "taskId": sent.task_id,
        }),
        StepRequest::Waiting { until_ms } => json!({ "until": timestamp(*until_ms) }),
        StepRequest::ToolCalled(call) => json!({ "waitsFor": call.arguments["event"] }),
        _ => json!({}),
    };
    draft(run, id, "RUNNING", at_ms, metadata)
}

/// A step has ended.
pub(super) fn ended(run: &str, id: &StepId, result: &StepResult, at_ms: u64) -> Option<Draft> {
    let failed = |error: &str| ("FAILED", json!({ "error": error }));
    let (status, mut metadata) = match result {
        StepResult::DelegationEnded(ended) => match &*ended.state {
            "completed" => ("COMPLETED", json!({})),
            "cancelled" => ("CANCELLED", json!({})),
            state if ended.error.is_empty() => failed(state),
            _ => failed(&ended.error),
        },
        StepResult::Decided(decision) if !decision.approved => failed(match &*decision.comment {
            "" => "refused",
            why => why,
        }),
        StepResult::ToolReturned(output) if output.is_error => failed(&output.value.to_string()),
        StepResult::Failed(failure) => failed(&failure.message),
        StepResult::Cancelled => ("CANCELLED", json!({})),
        _ => ("COMPLETED", json!({})),
    };
    if let StepResult::DelegationEnded(ended) = result {
        metadata["agent"] = json!(ended.agent);
    }
    draft(run, id, status, at_ms, metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_step_of_the_file_and_which_attempt() {
        let named = |id: &str| {
            let id = StepId::new(id);
            Named::of(&id).map(|named| format!("{} {} {}", named.step, named.name, named.attempt))
        };
        for (id, expected) in [
            ("draft", Some("draft draft 1")),
            ("draft/try-2", Some("draft draft 2")),
            ("draft/fallback/try-3", Some("draft draft/fallback 3")),
            ("send/3/post", Some("send send/3/post 1")),
            ("undo/draft", Some("draft undo/draft 1")),
            ("draft/pause-1", None),
            ("time-limit", None),
        ] {
            assert_eq!(named(id).as_deref(), expected);
        }
    }
}
