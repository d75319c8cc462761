//! The lines of a run that asks agents, at every level.

use std::{
    io,
    sync::{Arc, Mutex},
};

use agenthub_proto::trace::TraceContext;
use agenthub_runs::{
    Budget, DelegationResult, EffectFailure, Handoff, RunEvent, RunId, RunOutcome, RunStarted,
    SentHandoff, Spent, StepId, StepRequest, StepResult,
    journal::Entry,
    model::PromptMessage,
    tool_loop::{ErrorMode, Input},
};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use super::Spans;
use crate::Identity;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().expect("no panic while it is locked");
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

const KEY: &str = "sk-abcdefghijklmnopqrstuvwxyz";

/// A run in which one agent is asked, and comes back so.
fn run(mode: ErrorMode, result: StepResult) -> Vec<RunEvent> {
    let input = Input {
        instructions: "instructions".into(),
        messages: vec![PromptMessage::user(format!("the request, with {KEY}"))],
        on_failure: mode,
        ..Input::default()
    };
    let sent = SentHandoff {
        handoff: Handoff {
            agent: "writer".into(),
            capability: "write".into(),
            text: format!("the task, with {KEY} {}", "x".repeat(600)),
            payload: Some(json!({"topic": "rain", "api_key": "hunter2"})),
            ..Handoff::default()
        },
        task_id: "task-2".into(),
        message_id: "message-2".into(),
        deadline_ms: 9,
        budget: Budget::default(),
    };
    vec![
        RunEvent::Started(RunStarted {
            strategy: "tool_loop".into(),
            input: json!(input),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 1_000,
        }),
        RunEvent::StepBegun {
            step: StepId::new("turn-1/call-1"),
            attempt: 1,
            what: StepRequest::Delegated(sent),
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 2_000,
        },
        RunEvent::StepEnded {
            step: StepId::new("turn-1/call-1"),
            attempt: 1,
            result,
            spent: None,
            at_ms: 5_500,
        },
        RunEvent::Ended {
            outcome: RunOutcome::completed("all of it"),
            spent: Spent::default(),
            at_ms: 6_000,
        },
    ]
}

fn came(state: &str, text: &str, error: &str) -> StepResult {
    StepResult::DelegationEnded(DelegationResult {
        agent: "writer".into(),
        state: state.into(),
        text: text.into(),
        error: error.into(),
        ..DelegationResult::default()
    })
}

/// What is logged of these events, at this level and above.
fn logged(events: &[RunEvent], level: tracing::Level) -> Vec<Value> {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(level)
        .with_writer(lines.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        // Other tests may have passed here while nobody listened.
        tracing::callsite::rebuild_interest_cache();
        let at = (None, TraceContext::start());
        let run = RunId::new("run-1");
        let spans = Spans::new(run, "lead", Identity::default(), "task-1", at, None)
            .correlation_id("request-1");
        for (event, seq) in events.iter().zip(1..) {
            let entry = Entry {
                seq,
                event: event.clone(),
            };
            spans.tell(&entry, false);
        }
    });
    let bytes = lines.0.lock().expect("no panic while it is locked").clone();
    let text = String::from_utf8(bytes).expect("it is text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn one<'a>(lines: &'a [Value], message: &str) -> &'a Value {
    let mut found = lines.iter().filter(|l| l["fields"]["message"] == message);
    let line = found
        .next()
        .unwrap_or_else(|| panic!("no {message:?} in {lines:?}"));
    assert_eq!(found.next(), None, "{message:?} once");
    line
}

/// spec: SOP-9.1, SOP-9.2, SOP-9.4, SOP-9.5, SOP-9.6
#[test]
fn who_is_asked_and_what_comes_of_it_is_logged_without_what_was_said() {
    let events = run(ErrorMode::FailFast, came("completed", "the answer", ""));
    let lines = logged(&events, tracing::Level::INFO);
    let messages: Vec<_> = lines.iter().map(|l| &l["fields"]["message"]).collect();
    let expected = [
        "a run begins",
        "an agent is asked",
        "an agent has answered",
        "a run is over",
    ];
    assert_eq!(messages, expected);
    for line in &lines {
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["fields"]["correlation_id"], "request-1");
        assert_eq!(line["fields"]["run"], "run-1");
    }
    let begins = &one(&lines, "a run begins")["fields"];
    assert_eq!(begins["agent"], "lead");
    assert!(begins["digest"].is_string() && begins["bytes"].as_u64() > Some(30));
    let asked = &one(&lines, "an agent is asked")["fields"];
    assert_eq!(
        (&asked["agent"], &asked["task_id"]),
        (&json!("writer"), &json!("task-2"))
    );
    assert!(asked["digest"].is_string() && asked["bytes"].as_u64() > Some(600));
    let answered = &one(&lines, "an agent has answered")["fields"];
    assert_eq!(
        (&answered["agent"], &answered["ms"]),
        (&json!("writer"), &json!(3_500))
    );
    assert!(answered["digest"].is_string() && answered["bytes"].is_u64());
    let all = json!(lines).to_string();
    for said in [
        "the request",
        "the task",
        "rain",
        "hunter2",
        KEY,
        "the answer",
        "instructions",
    ] {
        assert!(!all.contains(said), "{said}: {all}");
    }
}

/// spec: SOP-9.1, SOP-9.2, SOP-9.4, SOP-9.6
#[test]
fn what_was_said_is_logged_for_those_who_debug_shortened_and_without_secrets() {
    let events = run(ErrorMode::FailFast, came("completed", "the answer", ""));
    let lines = logged(&events, tracing::Level::DEBUG);
    for line in &lines {
        assert_eq!(line["fields"]["correlation_id"], "request-1");
    }
    let request = &one(&lines, "what a run is asked")["fields"]["request"];
    assert!(
        request
            .as_str()
            .is_some_and(|r| r.contains("the request, with [redacted]"))
    );
    let asked = one(&lines, "what an agent is asked");
    assert_eq!(asked["level"], "DEBUG");
    let task = asked["fields"]["task"].as_str().expect("a text");
    assert!(task.starts_with("the task, with [redacted] xxx"), "{task}");
    assert_eq!(task.chars().count(), 500);
    let inputs = asked["fields"]["inputs"].as_str().expect("a text");
    assert_eq!(inputs, r#"{"topic":"rain","api_key":"[redacted]"}"#);
    let answered = &one(&lines, "what an agent has answered")["fields"]["text"];
    assert_eq!(answered, "the answer");
    let all = json!(lines).to_string();
    assert!(!all.contains(KEY) && !all.contains("hunter2"), "{all}");
}

/// spec: SOP-8.6, SOP-9.3
#[test]
fn a_failure_is_logged_with_who_why_and_how_long() {
    let error = format!("writing: disk full ({KEY})");
    let failed = || came("timed-out", "the half answer", &error);
    for (mode, level) in [
        (ErrorMode::FailFast, "ERROR"),
        (ErrorMode::Continue, "ERROR"),
        (ErrorMode::Tell, "WARN"),
    ] {
        let lines = logged(&run(mode, failed()), tracing::Level::INFO);
        let line = one(&lines, "an agent failed");
        assert_eq!(line["level"], level);
        let fields = &line["fields"];
        assert_eq!(fields["correlation_id"], "request-1");
        assert_eq!(
            (&fields["agent"], &fields["ms"]),
            (&json!("writer"), &json!(3_500))
        );
        assert_eq!(fields["error_type"], "timed-out");
        assert_eq!(fields["error"], "writing: disk full ([redacted])");
        assert!(!json!(lines).to_string().contains("half answer"));
    }
    let missed = "no answer for this prompt:\n--- recorded\n+++ asked\n-rain\n+snow";
    let missed = run(ErrorMode::FailFast, came("failed", "", missed));
    let lines = logged(&missed, tracing::Level::INFO);
    let fields = &one(&lines, "an agent failed")["fields"];
    assert_eq!(fields["error"], "no answer for this prompt:");
    let lost = StepResult::Failed(EffectFailure::lasting("no route"));
    let lines = logged(&run(ErrorMode::FailFast, lost), tracing::Level::INFO);
    let fields = &one(&lines, "an agent failed")["fields"];
    assert_eq!(
        (&fields["error_type"], &fields["error"]),
        (&json!("failed"), &json!("no route"))
    );
    let lines = logged(
        &run(ErrorMode::FailFast, StepResult::Cancelled),
        tracing::Level::INFO,
    );
    assert_eq!(one(&lines, "an agent was called back")["level"], "INFO");
}
