//! Frames of a run, made from its journal and numbered.
//!
//! The same journal gives the same frames under the same numbers, whoever reads it and whenever. Notes and progress of steps are frames as
//! they are; the rest follows from what began and what came back.

mod workflow;

use std::collections::BTreeMap;

use agenthub_proto::{cortex::Frame as Wire, json};
use agenthub_sdk::{
    internal::redacted_value,
    model::{Undone, Usage},
    runs::{
        DelegationResult, RunEvent, RunOutcome, RunStarted, Shortfall, Spent, StepId, StepRequest,
        StepResult, Strategy, journal::Entry,
    },
};
use serde_json::{Value, json};

use self::workflow::WORKFLOW;
use crate::{
    chat::{lacking::is_denied, projection::Projection, proxied::PROXIED_CHAT, turn::ChatTurn},
    frame,
    orchestrator::Orchestrator,
};

/// The fold of a run's journal into frames.
#[derive(Debug, Default)]
pub struct Frames {
    run: String,
    thread: String,
    owner: String,
    strategy: String,
    started_ms: u64,
    /// The frames so far.
    count: u64,
    usage: Usage,
    /// The part of a chat turn that was shown.
    chat: Projection,
    /// The work that agents have, the tools that are at work, and what people are asked.
    out: BTreeMap<StepId, OpenStep>,
    phase: String,
}

/// A step that is out.
#[derive(Clone, Debug)]
enum OpenStep {
    Agent { agent: String, task_id: String },
    Tool(String),
    Person { id: String, subject: String },
}

/// A frame without its number.
#[derive(Debug, Default)]
struct Draft {
    kind: String,
    message: String,
    phase: String,
    data: Option<Value>,
    duration_ms: u64,
}

impl Draft {
    fn new(kind: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    fn data(self, data: Value) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }

    /// A note or progress of a step.
    fn written(value: &Value) -> Option<Self> {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let draft = Self {
            kind: text("type"),
            message: text("message"),
            phase: text("phase"),
            data: value.get("data").cloned(),
            duration_ms: 0,
        };
        (!draft.kind.is_empty()).then_some(draft)
    }
}

impl Frames {
    /// No frames yet, of this run in this thread. `owner` is whose run it is.
    pub fn new(run: &str, thread: &str, owner: &str) -> Self {
        Self {
            run: run.to_owned(),
            thread: thread.to_owned(),
            owner: owner.to_owned(),
            ..Self::default()
        }
    }

    /// The frames that an entry adds. Entries come in order, from the first.
    pub fn of(&mut self, entry: &Entry) -> Vec<Wire> {
        let drafts = match self.strategy == ChatTurn.name() {
            true => self.chat(&entry.event),
            false => self.drafts(&entry.event),
        };
        drafts
            .into_iter()
            .map(|draft| self.numbered(draft))
            .collect()
    }

    /// The phase that the run entered last.
    pub fn phase(&self) -> &str {
        &self.phase
    }

    fn numbered(&mut self, draft: Draft) -> Wire {
        self.count += 1;
        if !draft.phase.is_empty() {
            self.phase.clone_from(&draft.phase);
        }
        Wire {
            r#type: draft.kind,
            sequence: self.count,
            correlation_id: self.run.clone(),
            context_id: self.thread.clone(),
            message: draft.message,
            phase: draft.phase,
            data: draft.data.as_ref().map(json::to_struct),
            duration_ms: draft.duration_ms,
        }
    }

    /// Chat turns, as those who talk with Cortex over the hub see them.
    fn chat(&mut self, event: &RunEvent) -> Vec<Draft> {
        let frames = match event {
            RunEvent::Progressed { value, .. } => {
                if value["type"] != "delta" {
                    return Draft::written(value).into_iter().collect();
                }
                let text = value["message"].as_str().unwrap_or_default();
                vec![self.chat.piece(text.to_owned())]
            }
            RunEvent::Ended {
                outcome: RunOutcome::Cancelled { reason },
                at_ms,
                ..
            } => {
                return vec![cancelled(reason, self.since(*at_ms))];
            }
            RunEvent::Ended { outcome, .. } => self.chat.end(outcome),
            event => self.chat.of(event),
        };
        let duration_ms = match event {
            RunEvent::Ended { at_ms, .. } => self.since(*at_ms),
            _ => 0,
        };
        let drafts = frames.iter().map(|shown| {
            let wire = shown.stamped(&frame::Stamp::default());
            Draft {
                kind: wire.r#type,
                message: wire.message,
                phase: wire.phase,
                data: wire.data.as_ref().map(json::from_struct),
                duration_ms,
            }
        });
        drafts.collect()
    }

    fn since(&self, at_ms: u64) -> u64 {
        at_ms.saturating_sub(self.started_ms)
    }

    fn drafts(&mut self, event: &RunEvent) -> Vec<Draft> {
        match event {
            RunEvent::Started(started) => self.started(started),
            RunEvent::Noted { value, .. } | RunEvent::Progressed { value, .. } => {
                Draft::written(value).into_iter().collect()
            }
            RunEvent::StepBegun {
                step, what, at_ms, ..
            } if self.strategy == WORKFLOW => {
                let own = workflow::begun(&self.run, step, what, *at_ms);
                let asked = match what {
                    StepRequest::ApprovalAsked(_) => self.begun(step, what),
                    _ => Vec::new(),
                };
                own.into_iter().chain(asked).collect()
            }
            RunEvent::StepEnded {
                step,
                result,
                spent,
                at_ms,
                ..
            } if self.strategy == WORKFLOW => {
                let decided = match result {
                    StepResult::Decided(_) => self.ended(step, result, *spent, *at_ms),
                    _ => Vec::new(),
                };
                let own = workflow::ended(&self.run, step, result, *at_ms);
                decided.into_iter().chain(own).collect()
            }
            RunEvent::StepBegun { step, what, .. } => self.begun(step, what),
            RunEvent::StepEnded {
                step,
                result,
                spent,
                at_ms,
                ..
            } => self.ended(step, result, *spent, *at_ms),
            RunEvent::Ended {
                outcome,
                spent,
                at_ms,
            } => self.over(outcome, *spent, *at_ms),
            RunEvent::Observed { .. } | RunEvent::Stopping { .. } => Vec::new(),
        }
    }

    fn started(&mut self, started: &RunStarted) -> Vec<Draft> {
        self.strategy.clone_from(&started.strategy);
        self.started_ms = started.at_ms;
        if self.strategy == ChatTurn.name() {
            return self.chat(&RunEvent::Started(started.clone()));
        }
        let start = Draft::new("start", "at work");
        let plan = &started.input["plan"];
        match self.strategy == WORKFLOW && plan.is_object() {
            true => {
                let plan = json!({ "plan": plan, "version": 1 });
                vec![start, Draft::new("plan_update", "").data(plan)]
            }
            false => vec![start],
        }
    }

    fn begun(&mut self, step: &StepId, what: &StepRequest) -> Vec<Draft> {
        match what {
            StepRequest::Delegated(sent) => {
                let agent = sent.handoff.agent.clone();
                let task_id = sent.task_id.clone();
                let data = json!({"from": self.owner, "to": agent, "capability": sent.handoff.capability, "taskId": task_id});
                self.out
                    .insert(step.clone(), OpenStep::Agent { agent, task_id });
                match self.strategy == Orchestrator::NAME {
                    // Its own note says so, and which step of the plan it is.
                    true => Vec::new(),
                    false => vec![Draft::new("handoff", "requested").data(data)],
                }
            }
            StepRequest::ToolCalled(call) => {
                self.out
                    .insert(step.clone(), OpenStep::Tool(call.name.clone()));
                let data = json!({"args": redacted_value(&call.arguments), "agent": self.owner});
                vec![Draft::new("tool_call", &call.name).data(data)]
            }
            StepRequest::ApprovalAsked(approval) => {
                let (id, subject) = (approval.id.clone(), approval.subject.clone());
                self.out
                    .insert(step.clone(), OpenStep::Person { id, subject });
                vec![Draft::new("approval", "asked").data(json!(approval))]
            }
            StepRequest::Said { text } => vec![Draft::new("message", text)],
            StepRequest::ModelAsked { .. } | StepRequest::Waiting { .. } => Vec::new(),
        }
    }

    fn ended(
        &mut self,
        step: &StepId,
        result: &StepResult,
        spent: Option<Spent>,
        at_ms: u64,
    ) -> Vec<Draft> {
        let out = self.out.remove(step);
        match (result, out) {
            (StepResult::ModelAnswered(answer), _) => {
                let usage = answer.usage.unwrap_or_default();
                self.usage.input_tokens += usage.input_tokens;
                self.usage.output_tokens += usage.output_tokens;
                self.usage.is_estimated |= usage.is_estimated;
                vec![self.metrics(usage, None, at_ms)]
            }
            (StepResult::Decided(decision), asked) => {
                let message = match decision.approved {
                    true => "approved",
                    false => "refused",
                };
                let mut data = json!(decision);
                if let Some(OpenStep::Person { id, subject }) = asked {
                    data["id"] = json!(id);
                    data["subject"] = json!(subject);
                }
                vec![Draft::new("approval", message).data(data)]
            }
            (result, Some(OpenStep::Agent { agent, task_id })) => {
                let state = match result {
                    StepResult::DelegationEnded(DelegationResult { state, .. }) => state.as_str(),
                    StepResult::Failed(_) => "failed",
                    _ => "cancelled",
                };
                let mut data =
                    json!({"from": agent, "to": self.owner, "taskId": task_id, "state": state});
                if let StepResult::DelegationEnded(delegated) = result
                    && let Some(shortfall) = Shortfall::of(&delegated.data)
                {
                    data["undone"] = json!(shortfall.extent());
                } else if let StepResult::DelegationEnded(delegated) = result
                    && self.strategy == PROXIED_CHAT
                    && is_denied(&agent, &delegated.data)
                {
                    data["undone"] = json!(Undone::Part);
                }
                let returned = Draft::new("handoff", "returned").data(data);
                let metrics =
                    spent.map(|spent| self.metrics(Usage::default(), Some((&agent, spent)), at_ms));
                [Some(returned), metrics].into_iter().flatten().collect()
            }
            (result, Some(OpenStep::Tool(name))) => {
                let data = match result {
                    StepResult::ToolReturned(output) if output.is_error => {
                        json!({"error": redacted_value(&output.value), "agent": self.owner})
                    }
                    StepResult::ToolReturned(output) => {
                        json!({"result": redacted_value(&output.value), "agent": self.owner})
                    }
                    StepResult::Failed(failure) => {
                        json!({"error": failure.message, "agent": self.owner})
                    }
                    _ => json!({"error": "cancelled", "agent": self.owner}),
                };
                vec![Draft::new("tool_result", name).data(data)]
            }
            _ => Vec::new(),
        }
    }

    fn metrics(&self, usage: Usage, agent: Option<(&str, Spent)>, at_ms: u64) -> Draft {
        let mut data = match agent {
            Some((agent, spent)) => {
                json!({"tokens": spent.tokens, "calls": spent.calls, "agent": agent})
            }
            None => json!({
                "tokens": usage.input_tokens + usage.output_tokens,
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "agent": self.owner,
            }),
        };
        if usage.is_estimated || agent.is_some_and(|(_, spent)| spent.is_estimated) {
            data["estimated"] = true.into();
        }
        Draft {
            duration_ms: self.since(at_ms),
            ..Draft::new("metrics", "").data(data)
        }
    }

    /// The sum, then the last frame.
    fn over(&mut self, outcome: &RunOutcome, spent: Spent, at_ms: u64) -> Vec<Draft> {
        let duration_ms = self.since(at_ms);
        let mut total = json!({"tokens": spent.tokens, "calls": spent.calls, "total": true});
        if spent.is_estimated {
            total["estimated"] = true.into();
        }
        let metrics = Draft {
            duration_ms,
            ..Draft::new("metrics", "").data(total)
        };
        let last = match outcome {
            RunOutcome::Completed { text, data, .. } => {
                let data = match data.get("bundle") {
                    Some(bundle) => bundle.clone(),
                    None => frame::answered(text, outcome.shortfall().as_ref()),
                };
                Draft {
                    duration_ms,
                    ..Draft::new("complete", "").data(data)
                }
            }
            RunOutcome::Failed { error } => Draft {
                duration_ms,
                ..Draft::new("error", error)
            },
            RunOutcome::Cancelled { reason } => cancelled(reason, duration_ms),
        };
        vec![metrics, last]
    }
}

fn cancelled(reason: &str, duration_ms: u64) -> Draft {
    let message = match reason.is_empty() {
        true => "cancelled".to_owned(),
        false => format!("cancelled: {reason}"),
    };
    Draft {
        duration_ms,
        ..Draft::new("error", message).data(json!({"cancelled": true}))
    }
}
