//! Events for the contract tests.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::{
    approval::{Approval, Decision},
    budget::{Budget, Spent},
    effect::{DelegationResult, EffectFailure, Handoff, SentHandoff, ToolOutput},
    event::{RunEvent, RunOutcome, RunStarted, StepRequest, StepResult},
    id::StepId,
    model::{Completion, ToolCall, Usage},
};

/// The first event of a run.
pub fn started() -> RunEvent {
    RunEvent::Started(RunStarted {
        strategy: "test".into(),
        input: json!({ "question": "what?" }),
        thread: "t-1".into(),
        origin: json!({ "task": "t", "on_behalf_of": "alice" }),
        budget: Budget {
            tokens: Some(1_000),
            depth: Some(2),
            ..Budget::default()
        },
        deadline_ms: Some(u64::MAX),
        at_ms: 1,
    })
}

/// An observation of this value.
pub fn saw(value: impl Into<Value>) -> RunEvent {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    RunEvent::Observed {
        step: StepId::new(format!("look-{}", NUMBER.fetch_add(1, Ordering::Relaxed))),
        value: Some(value.into()),
        same_as: None,
        at_ms: 2,
    }
}

/// Progress of a step in flight.
pub fn showed(phase: &str) -> RunEvent {
    RunEvent::Progressed {
        step: StepId::new("s"),
        attempt: 1,
        value: json!({ "type": "phase", "phase": phase }),
        at_ms: 3,
    }
}

/// The last event of a run.
pub fn ended() -> RunEvent {
    RunEvent::Ended {
        outcome: RunOutcome::completed("done"),
        spent: Spent::CALL,
        at_ms: 9,
    }
}

/// One event of each form.
pub fn forms() -> Vec<RunEvent> {
    let call = ToolCall {
        id: "c1".into(),
        name: "search".into(),
        arguments: json!({ "words": "ünïcode \u{0} 漢字 \"quoted\"", "n": [31.245270191439438, -1, u64::MAX] }),
    };
    let sent = SentHandoff {
        handoff: Handoff {
            agent: "b".into(),
            capability: "echo".into(),
            text: "please".into(),
            payload: Some(json!({ "z": 1, "a": 2 })),
            tool: "agent_b".into(),
            ..Handoff::default()
        },
        task_id: "t".into(),
        message_id: "m".into(),
        deadline_ms: 5,
        budget: Budget {
            calls: Some(0),
            ..Budget::default()
        },
    };
    let begun = |what| RunEvent::StepBegun {
        step: StepId::new("s"),
        attempt: 1,
        what,
        grant: Budget::default(),
        deadline_ms: Some(4),
        at_ms: 3,
    };
    let back = |result, spent| RunEvent::StepEnded {
        step: StepId::new("s"),
        attempt: 1,
        result,
        spent,
        at_ms: 4,
    };
    let answer = Completion {
        text: String::new(),
        tool_calls: vec![call.clone()],
        usage: Some(Usage {
            input_tokens: 3,
            output_tokens: 4,
            is_estimated: false,
        }),
        undone: None,
        lacks: Vec::new(),
    };
    let output = ToolOutput {
        value: json!(null),
        is_error: true,
    };
    let delegated = DelegationResult {
        agent: "b".into(),
        state: "completed".into(),
        data: vec![json!(1)],
        spent: Some(Spent::CALL),
        ..DelegationResult::default()
    };
    let approval = Approval::new("r", "send", "b", "echo", json!({ "z": 1, "a": 2 }));
    let decision = Decision {
        approved: false,
        by: "ann".into(),
        comment: "not today".into(),
    };
    vec![
        RunEvent::Observed {
            step: StepId::new("look-2"),
            value: None,
            same_as: Some(StepId::new("look-1")),
            at_ms: 2,
        },
        begun(StepRequest::ModelAsked {
            prompt: "p".into(),
            tools: "t".into(),
            max_output_tokens: Some(7),
        }),
        begun(StepRequest::ToolCalled(call)),
        begun(StepRequest::Delegated(sent)),
        begun(StepRequest::Said { text: "hm".into() }),
        begun(StepRequest::Waiting { until_ms: 8 }),
        begun(StepRequest::ApprovalAsked(approval)),
        RunEvent::Noted {
            step: StepId::new("note"),
            value: json!({ "type": "message" }),
            at_ms: 3,
        },
        RunEvent::Progressed {
            step: StepId::new("s"),
            attempt: 1,
            value: json!({ "type": "delta" }),
            at_ms: 3,
        },
        back(StepResult::ModelAnswered(answer), Some(Spent::CALL)),
        back(StepResult::ToolReturned(output), None),
        back(StepResult::DelegationEnded(delegated), None),
        back(StepResult::Said, Some(Spent::default())),
        back(StepResult::Woke, None),
        back(StepResult::Decided(decision), None),
        back(
            StepResult::Failed(EffectFailure::passing("no answer")),
            None,
        ),
        back(StepResult::Cancelled, None),
        RunEvent::Stopping {
            outcome: RunOutcome::Cancelled {
                reason: "nobody waits".into(),
            },
            at_ms: 8,
        },
        ended(),
    ]
}
