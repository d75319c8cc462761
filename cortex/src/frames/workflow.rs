//! Steps of a workflow as frames: what begins and what comes of it, with its name and its time (EXE-8).

use agenthub_proto::event;
use agenthub_sdk::runs::{
    Shortfall, StepId, StepRequest, StepResult,
    workflow_step::{StepEnd, WorkflowStep, attempt_behind},
};
use serde_json::{Value, json};

use super::Draft;

/// The strategy of workflows.
pub(super) const WORKFLOW: &str = "workflow";

fn draft(run: &str, id: &StepId, status: &str, at_ms: u64, metadata: Value) -> Option<Draft> {
    WorkflowStep::of(id).map(|named| draft_of(run, named, status, at_ms, metadata))
}

fn draft_of(
    run: &str,
    named: WorkflowStep<'_>,
    status: &str,
    at_ms: u64,
    mut metadata: Value,
) -> Draft {
    metadata["attempt"] = named.attempt.into();
    Draft::new("step", status).data(json!({
        "runId": run,
        "step": named.step,
        "stepName": named.name,
        "status": status,
        "timestamp": timestamp(at_ms),
        "metadata": metadata,
    }))
}

fn timestamp(at_ms: u64) -> String {
    let since = std::time::Duration::from_millis(at_ms);
    event::timestamp(std::time::SystemTime::UNIX_EPOCH + since).to_string()
}

/// A step begins, or the pause before its next attempt.
pub(super) fn begun(run: &str, id: &StepId, what: &StepRequest, at_ms: u64) -> Option<Draft> {
    if let (Some(next), StepRequest::Waiting { until_ms }) = (attempt_behind(id), what) {
        let until = json!({ "until": timestamp(*until_ms) });
        return Some(draft_of(run, next, "RETRYING", at_ms, until));
    }
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
    let (status, mut metadata) = match StepEnd::of(result) {
        StepEnd::Completed => ("COMPLETED", json!({})),
        StepEnd::Failed(reason) => ("FAILED", json!({ "error": reason })),
        StepEnd::Cancelled => ("CANCELLED", json!({})),
    };
    if let StepResult::DelegationEnded(ended) = result {
        metadata["agent"] = json!(ended.agent);
        if status == "COMPLETED"
            && let Some(shortfall) = Shortfall::of(&ended.data)
        {
            metadata["undone"] = json!(shortfall.extent());
        }
    }
    draft(run, id, status, at_ms, metadata)
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{DelegationResult, EffectFailure};

    use super::*;

    /// spec: EXE-8.1
    #[test]
    fn a_pause_says_which_attempt_follows_and_a_part_is_called_one() {
        let wait = StepRequest::Waiting { until_ms: 5_000 };
        let pause = begun("r", &StepId::new("a/pause-1"), &wait, 2_000).expect("it is said");
        let data = pause.data.expect("it has data");
        assert_eq!(
            (&data["status"], &data["step"]),
            (&"RETRYING".into(), &"a".into())
        );
        assert_eq!(
            data["metadata"],
            json!({"until": "1970-01-01T00:00:05Z", "attempt": 2})
        );
        let part = StepResult::DelegationEnded(DelegationResult {
            agent: "x".to_owned(),
            state: "completed".to_owned(),
            data: vec![json!({"partial": true, "undone": "part", "results": []})],
            ..DelegationResult::default()
        });
        let part = ended("r", &StepId::new("a"), &part, 1_000).expect("a step");
        let data = part.data.expect("it has data");
        assert_eq!(data["status"], "COMPLETED");
        assert_eq!(data["metadata"]["undone"], "part");
    }

    /// spec: EXE-8.3
    #[test]
    fn a_step_that_came_to_nothing_is_failed_and_its_error_has_no_secrets() {
        let data = |result: StepResult| {
            let draft = ended("r", &StepId::new("a/try-2"), &result, 1_000).expect("a step");
            draft.data.expect("it has data")
        };
        let nothing = data(StepResult::DelegationEnded(DelegationResult {
            agent: "x".to_owned(),
            state: "completed".to_owned(),
            text: "I found no tool".to_owned(),
            data: vec![json!({"partial": true, "undone": "all", "results": []})],
            ..DelegationResult::default()
        }));
        assert_eq!(nothing["status"], "FAILED");
        assert_eq!(
            nothing["metadata"],
            json!({"error": "x did nothing of it: I found no tool", "agent": "x", "attempt": 2})
        );
        let secret = EffectFailure::lasting("password=hunter22");
        let secret = data(StepResult::Failed(secret));
        assert_eq!(secret["metadata"]["error"], "password=[redacted]");
    }
}
