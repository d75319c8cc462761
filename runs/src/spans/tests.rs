use serde_json::{Value as Json, json};

use super::*;
use crate::{
    Approval, Budget, Decision, DelegationResult, EffectFailure, Handoff, RunEvent, RunId,
    RunOutcome, RunStarted, SentHandoff, Spent, StepId, StepRequest, StepResult, ToolOutput,
    model::{Completion, ToolCall, Usage},
};

/// Content that must not appear in a span.
const SESAME: &str = "sesame";

fn subject(workflow: &str) -> Subject {
    Subject {
        run: RunId::new("run-1"),
        agent: "lead".into(),
        model: "vertex/m-1".into(),
        workflow: workflow.into(),
        task_id: "task-1".into(),
        correlation_id: "request-1".into(),
        trace_id: 0xabc,
        span_id: 0x1,
        parent: Some(0x2),
    }
}

fn started() -> RunEvent {
    RunEvent::Started(RunStarted {
        strategy: "orchestrator".into(),
        input: json!({ "objective": SESAME }),
        thread: "thread-1".into(),
        origin: json!(SESAME),
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 1_000,
    })
}

fn key(step: &str, attempt: u32) -> StepKey {
    StepKey {
        run: RunId::new("run-1"),
        step: StepId::new(step),
        attempt,
    }
}

/// Events of a step between these times.
fn step(
    name: &str,
    what: StepRequest,
    result: StepResult,
    from_ms: u64,
    to_ms: u64,
) -> [RunEvent; 2] {
    attempt(name, 1, what, result, from_ms, to_ms)
}

fn attempt(
    name: &str,
    attempt: u32,
    what: StepRequest,
    result: StepResult,
    from_ms: u64,
    to_ms: u64,
) -> [RunEvent; 2] {
    let step = StepId::new(name);
    [
        RunEvent::StepBegun {
            step: step.clone(),
            attempt,
            what,
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: from_ms,
        },
        RunEvent::StepEnded {
            step,
            attempt,
            result,
            spent: Some(Spent {
                tokens: 70,
                ..Spent::CALL
            }),
            at_ms: to_ms,
        },
    ]
}

fn asked() -> StepRequest {
    StepRequest::ModelAsked {
        prompt: "digest".into(),
        tools: "digest".into(),
        max_output_tokens: Some(500),
    }
}

fn answered() -> StepResult {
    StepResult::ModelAnswered(Completion {
        text: SESAME.into(),
        usage: Some(Usage {
            input_tokens: 50,
            output_tokens: 20,
            is_estimated: false,
        }),
        ..Completion::default()
    })
}

fn handed(step: &str, agent: &str, capability: &str) -> StepRequest {
    let key = key(step, 1);
    StepRequest::Delegated(SentHandoff {
        handoff: Handoff {
            agent: agent.into(),
            capability: capability.into(),
            text: SESAME.into(),
            payload: Some(json!({ "brief": SESAME })),
            ..Handoff::default()
        },
        task_id: key.task_id().to_string(),
        message_id: key.message_id().to_string(),
        deadline_ms: 9_000,
        budget: Budget::default(),
    })
}

fn gave(agent: &str, data: Json) -> StepResult {
    StepResult::DelegationEnded(DelegationResult {
        agent: agent.into(),
        state: "completed".into(),
        text: SESAME.into(),
        data: vec![data],
        ..DelegationResult::default()
    })
}

fn tool() -> StepRequest {
    StepRequest::ToolCalled(ToolCall {
        id: "call-1".into(),
        name: "look_up".into(),
        arguments: json!({ "query": SESAME }),
    })
}

fn noted(depth: u64, score: f64, at_ms: u64) -> RunEvent {
    let data = json!({ "review": { "depth": depth, "score": score, "agent": SESAME } });
    RunEvent::Noted {
        step: StepId::new(format!("note-{depth}")),
        value: json!({ "type": "message", "message": SESAME, "data": data }),
        at_ms,
    }
}

fn ended(outcome: RunOutcome) -> RunEvent {
    RunEvent::Ended {
        outcome,
        spent: Spent {
            tokens: 210,
            calls: 3,
            cost_micros: 0,
            is_estimated: false,
        },
        at_ms: 5_000,
    }
}

fn spans<'a>(workflow: &str, events: impl IntoIterator<Item = &'a RunEvent>) -> Vec<Span> {
    let mut projection = Projection::new(subject(workflow));
    events
        .into_iter()
        .filter_map(|event| projection.of(event))
        .collect()
}

/// A run with one step of each kind.
fn whole() -> Vec<RunEvent> {
    let approval = Approval::new(
        "run-1",
        "post",
        "press",
        "post.publish",
        json!({ "text": SESAME }),
    );
    let decision = Decision {
        approved: true,
        by: "somebody".into(),
        comment: SESAME.into(),
    };
    let verdict = json!({ "qa": {
        "pass": false,
        "score": 0.4,
        "issues": [SESAME],
        "checks": [
            { "id": "length", "name": "length", "verdict": "pass", "score": 1.0, "evidence": SESAME },
            { "id": "criterion: open sesame", "name": SESAME, "verdict": "not_checked", "evidence": SESAME },
        ],
    }});
    let data = json!({ "bundle": {
        "result": { "post": SESAME, "plan": [1, 2] },
        "quality": { "score": 0.9, "depth": 2, "issues": [SESAME] },
    }});
    let made = RunOutcome::with_data(SESAME, data);
    let mut events = vec![started()];
    events.extend(step("turn-1", asked(), answered(), 1_100, 1_200));
    let draft = gave("writer", json!({ "draft": { "text": SESAME } }));
    events.extend(step(
        "draft",
        handed("draft", "writer", "content.write"),
        draft,
        1_300,
        2_300,
    ));
    let review = gave("qa", verdict);
    events.extend(step(
        "review",
        handed("review", "", "qa.review"),
        review,
        2_400,
        2_500,
    ));
    events.push(noted(1, 0.4, 2_510));
    let found = StepResult::ToolReturned(json!(SESAME).into());
    events.extend(step("look", tool(), found, 2_600, 2_700));
    events.extend(step(
        "yes",
        StepRequest::ApprovalAsked(approval),
        StepResult::Decided(decision),
        2_800,
        4_800,
    ));
    events.push(ended(made));
    events
}

/// spec: ORC-9, SOP-9.5
#[test]
fn each_step_of_a_run_is_a_span_and_the_run_is_one_above_them() {
    let spans = spans("campaign", &whole());
    insta::assert_json_snapshot!(spans);
    let [steps @ .., run] = spans.as_slice() else {
        panic!("there are spans")
    };
    assert!(
        steps
            .iter()
            .all(|s| s.parent.map(|p| p.span_id) == Some(run.span_id))
    );
}

/// spec: ORC-9
#[test]
fn a_span_holds_nothing_of_what_was_said_or_made() {
    let text = serde_json::to_string(&spans("", &whole())).expect("plain values");
    assert!(text.contains("agenthub.artifact.bytes"));
    assert!(!text.contains(SESAME), "{text}");
}

#[test]
fn a_run_that_is_no_workflow_is_its_agent_at_work() {
    let spans = spans("", &[started(), ended(RunOutcome::completed("done"))]);
    assert_eq!(spans[0].name, "invoke_agent lead");
    assert_eq!(spans[0].error, None);
}

#[test]
fn what_came_to_nothing_says_why_and_each_attempt_is_a_span() {
    let failed = |why: &str| StepResult::Failed(EffectFailure::passing(why));
    let lost = StepResult::DelegationEnded(DelegationResult {
        state: "timed-out".into(),
        error: "no answer".into(),
        ..DelegationResult::default()
    });
    let wrong = StepResult::ToolReturned(ToolOutput::error("no such thing"));
    let mut events = vec![started()];
    events.extend(attempt("turn-1", 1, asked(), failed("busy"), 1_100, 1_200));
    events.extend(attempt("turn-1", 2, asked(), answered(), 1_300, 1_400));
    events.extend(step("draft", handed("draft", "w", ""), lost, 1_500, 1_600));
    events.extend(step("look", tool(), wrong, 1_600, 1_700));
    events.extend(step("back", tool(), StepResult::Cancelled, 1_600, 1_700));
    let reason = "nobody wants it".to_owned();
    events.push(ended(RunOutcome::Cancelled { reason }));
    let spans = spans("", &events);
    let told: Vec<_> = spans
        .iter()
        .map(|s| {
            s.error
                .as_ref()
                .map(|e| (e.kind.as_str(), e.message.as_str()))
        })
        .collect();
    assert_eq!(
        told,
        [
            Some(("failed", "busy")),
            None,
            Some(("timed-out", "no answer")),
            Some(("tool", "no such thing")),
            Some(("cancelled", "it was called back")),
            Some(("cancelled", "nobody wants it")),
        ]
    );
    assert_ne!(spans[0].span_id, spans[1].span_id);
    assert!(
        spans[0]
            .attributes
            .contains(&("error.type", "failed".into()))
    );
}

/// The parent id in the handoff's message is the last 16 digits of the message's own id.
#[test]
fn a_handoff_is_the_span_that_its_message_names() {
    let spans = spans("", &whole());
    let draft = spans.iter().find(|s| s.name == "invoke_agent writer");
    let message = key("draft", 1).message_id().simple().to_string();
    let id = draft.map(|s| format!("{:016x}", s.span_id));
    assert_eq!(id.as_deref(), Some(&message[16..]));
}

#[test]
fn what_did_not_begin_does_not_end() {
    let [_, back] = step("turn-1", asked(), answered(), 1_100, 1_200);
    assert_eq!(spans("", &[started(), back]), []);
}

#[test]
fn texts_are_bounded() {
    let long = "x".repeat(10_000);
    let begun = StepRequest::ToolCalled(ToolCall {
        id: long.clone(),
        name: long.clone(),
        arguments: json!(null),
    });
    let failed = StepResult::Failed(EffectFailure::lasting(long));
    let [begun, back] = step("s", begun, failed, 1, 2);
    let spans = spans("", &[started(), begun, back]);
    let text = serde_json::to_string(&spans).expect("plain values");
    assert!(text.len() < 2_500, "{}", text.len());
}
