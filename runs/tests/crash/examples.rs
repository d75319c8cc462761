//! The example runs: their strategies and their worlds.

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_runs::{
    Approval, Budget, Decision, DelegationResult, Effect, EffectFailure, Facts, Handoff, Next,
    Retry, RunEvent, RunOutcome, RunStarted, SentHandoff, Step, StepContext, StepResult, Strategy,
    ToolOutput, World,
    journal::Entry,
    model::{
        Completion, PromptMessage, PromptPart, PromptRole, Request, ToolCall, ToolSpec, Usage,
    },
    tool_loop::{AvailableTool, Input, Peer, ToolLoop},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{sync::watch, time::sleep};

use super::traces::Pen;
use crate::support::{Wants, begins};

/// Names: two turns with parallel tools; a called agent; a message, a wait and a retry; notes, progress and an
/// approval.
pub(super) const EXAMPLES: &[&str] = &["tools", "agent", "errands", "watched"];

/// First event and strategy of the example.
pub(super) fn example(name: &str) -> (RunStarted, Box<dyn Strategy>) {
    if name == "watched" {
        return (begins("wants", json!(null)), Box::new(Wants(watched)));
    }
    if name == "errands" {
        let mut first = begins("wants", json!(null));
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        first.at_ms = since.expect("it is later").as_millis() as u64;
        return (first, Box::new(Wants(errands)));
    }
    let input = Input {
        instructions: "Help.".into(),
        messages: vec![PromptMessage::user(name)],
        ..Input::default()
    };
    let mut first = begins("tool_loop", json!(input));
    first.budget = Budget {
        tokens: Some(100_000),
        calls: Some(50),
        depth: Some(2),
        ..Budget::default()
    };
    (first, Box::new(ToolLoop))
}

/// Sequential steps.
fn errands(facts: &Facts) -> Next {
    let retry = Retry {
        attempts: 3,
        pause_ms: 20,
    };
    let call = ToolCall {
        id: "c".into(),
        name: "flaky".into(),
        arguments: json!({ "pi": 31.245270191439438 }),
    };
    let handoff = Handoff {
        agent: "helper".into(),
        text: "go".into(),
        payload: Some(json!({ "z": 1.1, "a": "ü" })),
        ..Handoff::default()
    };
    let started = facts.started().map_or(0, |s| s.at_ms);
    let steps = [
        vec![Step::new("say", Effect::Say("one moment".into()))],
        vec![
            Step::new("wait", Effect::Wait(started + 60)),
            Step::new("try", Effect::Call(call)).retry(retry),
        ],
        vec![Step::new("ask", Effect::Delegate(handoff))],
        vec![Step::new("bye", Effect::Say("done".into()))],
    ];
    for together in steps {
        if together.iter().any(|step| facts.result(step).is_none()) {
            return Next::Steps(together);
        }
    }
    Next::Finish(RunOutcome::completed(format!(
        "spent {}",
        facts.spent().calls
    )))
}

/// A note, progress, and an approval before the handoff.
fn watched(facts: &Facts) -> Next {
    let note = |name: &str, says: Value| Step::new(name, Effect::Note(says));
    let handoff = Handoff {
        agent: "helper".into(),
        text: "shows 4".into(),
        ..Handoff::default()
    };
    let call = ToolCall {
        id: "c".into(),
        name: "shows 3".into(),
        arguments: json!({}),
    };
    let arguments = json!(handoff);
    let approval = Approval::new("example", "help", "helper", "help", arguments);
    let steps = [
        note("plan", json!({ "type": "plan_update" })),
        Step::new("draw", Effect::Call(call)),
        Step::new("allow", Effect::Approve(approval)),
        Step::new("help", Effect::Delegate(handoff)),
        note("told", json!({ "spent": facts.spent().calls })),
    ];
    let is_done = |step: &&Step| match step.effect {
        Effect::Note(_) => facts.noted(&step.id).is_none(),
        _ => facts.result(step).is_none(),
    };
    match steps.iter().find(is_done) {
        Some(step) => Next::Steps(vec![step.clone()]),
        None => Next::Finish(RunOutcome::completed(
            facts
                .noted(&steps[4].id)
                .map(Value::to_string)
                .unwrap_or_default(),
        )),
    }
}

/// A world in which every effect takes a moment and leaves a trace.
pub(super) struct Traced {
    pen: Pen,
    /// Pieces of progress shown by this process.
    seen: watch::Sender<u64>,
}

impl Traced {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            pen: Pen::new(folder),
            seen: watch::Sender::new(0),
        }
    }

    /// Long enough for other steps to begin meanwhile; of different lengths.
    async fn act(&self, step: &StepContext, what: &Value) {
        let key = step.key.to_string();
        self.pen
            .write(&json!({ "begins": key, "task": step.key.task_id().to_string(), "what": what }));
        let pause = 3 + step.key.step.as_str().len() as u64 % 3;
        sleep(Duration::from_millis(pause)).await;
        self.pen.write(&json!({ "ends": key }));
    }

    /// Reports as many pieces as the text says. Each but the last is durable before the next one.
    async fn show_pieces(&self, step: &StepContext, text: &str) {
        let count = text.strip_prefix("shows ").and_then(|n| n.parse().ok());
        let mut seen = self.seen.subscribe();
        for piece in 1..=count.unwrap_or(0) {
            let before = *seen.borrow_and_update();
            step.progress.note(json!({ "piece": piece })).await;
            if Some(piece) != count {
                let next = seen.wait_for(|seen| *seen > before).await;
                next.expect("the world holds it");
            }
        }
    }
}

#[async_trait]
impl World for Traced {
    async fn look(&self, _: &Value) -> Value {
        let offered = |name: &str, agent| AvailableTool {
            needs_approval: false,
            tool: ToolSpec {
                name: name.into(),
                description: String::new(),
                parameters: json!({ "type": "object" }),
                agent: None,
            },
            agent,
        };
        let helper = Peer {
            id: "helper".into(),
            skills: vec!["help".into()],
            ..Peer::default()
        };
        json!([
            offered("clock", None),
            offered("search", None),
            offered("agent_helper", Some(helper)),
        ])
    }

    async fn ask(&self, step: &StepContext, request: Request) -> Result<Completion, EffectFailure> {
        self.act(step, &json!(request)).await;
        let call = |name: &str, number: u32| ToolCall {
            id: format!("call-{number}"),
            name: name.into(),
            arguments: json!({ "request": format!("{name} {number}"), "n": 0.1 }),
        };
        let turn = request
            .messages
            .iter()
            .filter(|m| m.role == PromptRole::Tool)
            .count();
        let topic = request.last_user_text();
        let tool_calls = match (topic.as_deref(), turn) {
            (Some("tools"), 0) => vec![call("clock", 1), call("search", 2), call("search", 3)],
            (Some("tools"), 1) => vec![call("clock", 1), call("nothing", 2)],
            (Some("agent"), 0) => vec![call("agent_helper", 1), call("clock", 2)],
            _ => Vec::new(),
        };
        Ok(Completion {
            text: format!("after {turn}: {}", results(&request)),
            tool_calls,
            usage: Some(Usage {
                input_tokens: 10,
                output_tokens: 5,
                is_estimated: false,
            }),
            undone: None,
            lacks: Vec::new(),
        })
    }

    async fn call(&self, step: &StepContext, call: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        self.act(step, &json!(call)).await;
        self.show_pieces(step, &call.name).await;
        match (&*call.name, step.key.attempt) {
            ("flaky", 1 | 2) => Err(EffectFailure::passing("not yet")),
            _ => Ok(ToolOutput::from(json!({ "of": call.arguments }))),
        }
    }

    async fn delegate(
        &self,
        step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        self.act(step, &json!(sent)).await;
        self.show_pieces(step, &sent.handoff.text).await;
        Ok(DelegationResult {
            agent: sent.handoff.agent.clone(),
            state: "completed".into(),
            text: format!("helped with {}", sent.handoff.text),
            ..DelegationResult::default()
        })
    }

    async fn recall(&self, step: &StepContext, _: &SentHandoff) {
        panic!("{} is called back, though nobody gave up", step.key);
    }

    async fn say(&self, step: &StepContext, text: &str) -> Result<(), EffectFailure> {
        self.act(step, &json!(text)).await;
        Ok(())
    }

    async fn approve(
        &self,
        step: &StepContext,
        approval: &Approval,
    ) -> Result<Decision, EffectFailure> {
        self.act(step, &json!(approval)).await;
        Ok(Decision {
            approved: true,
            by: "a person".into(),
            comment: String::new(),
        })
    }

    fn show(&self, entry: &Entry, again: bool) {
        if matches!(entry.event, RunEvent::Progressed { .. }) && !again {
            self.seen.send_modify(|seen| *seen += 1);
        }
    }

    async fn conclude(
        &self,
        outcome: &RunOutcome,
        spent: agenthub_runs::Spent,
    ) -> Result<(), EffectFailure> {
        self.pen.write(&json!({ "told": outcome, "spent": spent }));
        Ok(())
    }
}

/// The results of tools and agents, so that the answer depends on them.
fn results(request: &Request) -> String {
    let parts = request.messages.iter().flat_map(|m| &m.parts);
    let values = parts.filter_map(|part| match part {
        PromptPart::ToolResult { value, .. } => Some(value.to_string()),
        _ => None,
    });
    values.collect::<Vec<_>>().join(", ")
}

/// True if a result ends its step for good.
pub(super) fn is_final(result: &StepResult) -> bool {
    !matches!(result, StepResult::Failed(_))
}
