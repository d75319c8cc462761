//! Monitoring messages of a run, from the entries of its journal: the same entry gives the same message, whoever reads it and whenever.

use std::time::{Duration, SystemTime};

use agenthub_bus::{
    Message,
    messages::{self, Envelope, MonitoringUpdate, StepStatus as Status},
};
use agenthub_sdk::{
    internal::redacted,
    proto::event,
    runs::{
        RunEvent, RunId, RunOutcome, StepRequest, StepResult,
        journal::Entry,
        workflow_step::{StepEnd, WorkflowStep},
    },
};
use serde_json::{Map, Value, json};

/// Source of the messages of workflows, in the sense of CloudEvents.
pub(crate) const SOURCE: &str = "/agenthub/workflows";

/// The step name of messages about a run as a whole; no step of a workflow can have it.
const WHOLE: &str = "workflow";

/// The message about a step that an entry brings.
///
/// spec: EXE-8.1, EXE-8.2, EXE-8.3, EXE-8.4, EXE-10.3
pub(crate) fn of_step(run: &RunId, entry: &Entry) -> Option<Message> {
    let (step, attempt, status, metadata) = match &entry.event {
        RunEvent::StepBegun {
            step,
            attempt,
            what,
            ..
        } => (step, *attempt, Status::Running, begun(what)),
        RunEvent::StepEnded {
            step,
            attempt,
            result,
            ..
        } => {
            let (status, metadata) = ended(result);
            (step, *attempt, status, metadata)
        }
        _ => return None,
    };
    let named = WorkflowStep::of(step)?;
    let attempt = match named.attempt {
        1 => attempt,
        named => named,
    };
    let mut metadata = metadata.as_object().cloned().unwrap_or_default();
    metadata.insert("attempt".to_owned(), attempt.into());
    Some(message(run, entry, named.name, status, metadata))
}

/// The last message of a run, if this entry has its outcome. It is due when nothing of the run is out any more.
///
/// spec: EXE-8.5
pub(crate) fn of_end(run: &RunId, entry: &Entry) -> Option<Message> {
    let RunEvent::Stopping { outcome, .. } = &entry.event else {
        return None;
    };
    let (status, metadata) = match outcome {
        RunOutcome::Completed { .. } => (Status::Completed, json!({})),
        RunOutcome::Failed { error } => (Status::Failed, error_of(error)),
        RunOutcome::Cancelled { reason } => (Status::Cancelled, json!({"reason": reason})),
    };
    let metadata = metadata.as_object().cloned().unwrap_or_default();
    Some(message(run, entry, WHOLE, status, metadata))
}

fn message(
    run: &RunId,
    entry: &Entry,
    step_name: &str,
    status: Status,
    metadata: Map<String, Value>,
) -> Message {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(entry.event.at_ms());
    let update = MonitoringUpdate {
        run_id: run.to_string(),
        step_name: step_name.to_owned(),
        status,
        timestamp: event::timestamp(at).to_string(),
        metadata,
    };
    let envelope = Envelope {
        id: format!("{run}.{}", entry.seq),
        source: SOURCE.to_owned(),
        time: at,
        traceparent: None,
        task_id: None,
    };
    messages::message(&update, envelope)
}

fn begun(what: &StepRequest) -> Value {
    match what {
        StepRequest::Delegated(sent) => json!({
            "agent": sent.handoff.agent,
            "skill": sent.handoff.capability,
            "task_id": sent.task_id,
        }),
        StepRequest::ApprovalAsked(approval) => json!({ "approval_id": approval.id }),
        _ => json!({}),
    }
}

fn ended(result: &StepResult) -> (Status, Value) {
    let (status, mut metadata) = match StepEnd::of(result) {
        StepEnd::Completed => (Status::Completed, json!({})),
        StepEnd::Failed(reason) => (Status::Failed, json!({ "error": reason })),
        StepEnd::Cancelled => (Status::Cancelled, json!({})),
    };
    if let StepResult::DelegationEnded(ended) = result {
        metadata["agent"] = json!(ended.agent);
    }
    (status, metadata)
}

/// Secrets are left out, and what is longer than 500 characters is cut.
fn error_of(error: &str) -> Value {
    json!({ "error": redacted(error) })
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, DelegationResult, EffectFailure, Spent, StepId};

    use super::*;

    fn entry(seq: u64, event: RunEvent) -> Entry {
        Entry { seq, event }
    }

    fn ended_with(step: &str, result: StepResult) -> RunEvent {
        RunEvent::StepEnded {
            step: StepId::new(step),
            attempt: 1,
            result,
            spent: Some(Spent::default()),
            at_ms: 1_500,
        }
    }

    fn body(event: RunEvent) -> Option<Value> {
        let run = RunId::new("r");
        let entry = entry(7, event);
        let message = of_step(&run, &entry).or_else(|| of_end(&run, &entry))?;
        assert_eq!((&*message.id, &*message.key), ("r.7", "r"));
        assert_eq!(message.headers["ce_source"], "/agenthub/workflows");
        let update: Result<MonitoringUpdate, String> = messages::read(&message);
        update.expect("it fits its schema");
        message.value()
    }

    /// spec: EXE-8.1, EXE-8.4, EXE-10.3
    #[test]
    fn a_step_that_begins_is_running_with_exactly_these_fields() {
        let begun = |step: &str| RunEvent::StepBegun {
            step: StepId::new(step),
            attempt: 1,
            what: StepRequest::Waiting { until_ms: 9 },
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 1_500,
        };
        assert_eq!(
            body(begun("send/3/post/try-2")),
            Some(json!({
                "run_id": "r",
                "step_name": "send/3/post",
                "status": "RUNNING",
                "timestamp": "1970-01-01T00:00:01.500Z",
                "metadata": { "attempt": 2 },
            }))
        );
        assert_eq!(body(begun("draft/pause-1")), None);
    }

    /// spec: EXE-8.2, EXE-8.3, EXE-8.4
    #[test]
    fn a_step_that_ends_is_completed_or_failed_with_its_error() {
        let state = |state: &str, error: &str| {
            let ended = StepResult::DelegationEnded(DelegationResult {
                agent: "a".to_owned(),
                state: state.to_owned(),
                error: error.to_owned(),
                ..DelegationResult::default()
            });
            let body = body(ended_with("draft", ended)).expect("a step has ended");
            (body["status"].clone(), body["metadata"].clone())
        };
        assert_eq!(
            state("completed", ""),
            (json!("COMPLETED"), json!({"attempt": 1, "agent": "a"}))
        );
        assert_eq!(
            state("failed", "no ink, password=hunter22"),
            (
                json!("FAILED"),
                json!({"attempt": 1, "agent": "a", "error": "no ink, password=[redacted]"})
            )
        );
        assert_eq!(state("away", "").1["error"], "away");
        let nothing = StepResult::DelegationEnded(DelegationResult {
            state: "completed".to_owned(),
            data: vec![json!({"partial": true, "undone": "all", "results": []})],
            ..DelegationResult::default()
        });
        let nothing = body(ended_with("draft", nothing)).expect("a step has ended");
        assert_eq!(nothing["status"], "FAILED", "the workflow fails for it");
        let late = StepResult::Failed(EffectFailure::lasting("the time is over"));
        let late = body(ended_with("draft", late)).expect("a step has ended");
        assert_eq!(late["metadata"]["error"], "the time is over");
        let recalled = body(ended_with("draft", StepResult::Cancelled)).expect("it has ended");
        assert_eq!(recalled["status"], "CANCELLED");
    }

    /// spec: EXE-8.5
    #[test]
    fn the_outcome_of_a_run_is_the_last_status() {
        let last = |outcome| {
            let stopping = RunEvent::Stopping {
                outcome,
                at_ms: 2_000,
            };
            let body = body(stopping).expect("it is the end");
            assert_eq!(body["step_name"], "workflow");
            (body["status"].clone(), body["metadata"].clone())
        };
        assert_eq!(
            last(RunOutcome::completed("x")),
            (json!("COMPLETED"), json!({}))
        );
        assert_eq!(
            last(RunOutcome::failed("no")),
            (json!("FAILED"), json!({"error": "no"}))
        );
        let reason = "enough".to_owned();
        assert_eq!(
            last(RunOutcome::Cancelled { reason }),
            (json!("CANCELLED"), json!({"reason": "enough"}))
        );
    }
}
