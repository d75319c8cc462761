//! Log lines of the agents that a run asks: name, duration, and reason of a failure. The question and the answer are in it as a
//! digest and a size, and at `debug` in words: shortened, and without secrets.

use std::collections::BTreeMap;

use agenthub_runs::{
    DelegationResult, Handoff, RunEvent, StepId, StepRequest, StepResult, Strategy,
    spans::Projection,
    tool_loop::{ErrorMode, Input, ToolLoop},
};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::log::say;
use crate::{model::cassette, redact};

/// The agents that are asked at present, by step, and what a failure means.
#[derive(Debug, Default)]
pub(super) struct Asked {
    out: BTreeMap<StepId, Out>,
    /// A failure is the run's, and not just something that its model is told.
    is_grave: bool,
}

/// An agent that was asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Out {
    agent: String,
    task_id: String,
    attempt: u32,
    at_ms: u64,
}

impl Asked {
    /// Takes in the next event. Returns who it is that comes back with it.
    pub(super) fn apply(&mut self, event: &RunEvent) -> Option<Out> {
        match event {
            RunEvent::Started(started) => {
                let mode = (started.strategy == ToolLoop.name())
                    .then(|| Input::deserialize(&started.input).ok())
                    .flatten()
                    .map(|input| input.on_failure);
                self.is_grave = mode.is_some_and(|mode| mode != ErrorMode::Tell);
                None
            }
            RunEvent::StepBegun {
                step,
                attempt,
                what: StepRequest::Delegated(sent),
                at_ms,
                ..
            } => {
                let out = Out {
                    agent: sent.handoff.agent.clone(),
                    task_id: sent.task_id.clone(),
                    attempt: *attempt,
                    at_ms: *at_ms,
                };
                self.out.insert(step.clone(), out);
                None
            }
            RunEvent::StepEnded { step, attempt, .. } => {
                let is_it = self.out.get(step)?.attempt == *attempt;
                is_it.then(|| self.out.remove(step)).flatten()
            }
            _ => None,
        }
    }

    /// An agent is asked.
    pub(super) fn begins(of: &Projection, event: &RunEvent) {
        let RunEvent::StepBegun {
            step,
            attempt,
            what: StepRequest::Delegated(sent),
            ..
        } = event
        else {
            return;
        };
        let Handoff {
            agent,
            capability,
            text,
            payload,
            ..
        } = &sent.handoff;
        let asked = json!([text, payload]).to_string();
        let task_id = &*sent.task_id;
        say!(
            info,
            of,
            %step,
            attempt,
            agent,
            capability,
            task_id,
            digest = digest(&asked),
            bytes = asked.len(),
            "an agent is asked"
        );
        let inputs = payload.as_ref().map(shown).unwrap_or_default();
        let task = redact::error(text);
        say!(debug, of, %step, agent, task_id, task, inputs, "what an agent is asked");
    }

    /// An agent has come back.
    pub(super) fn ends(&self, of: &Projection, event: &RunEvent, out: &Out) {
        let RunEvent::StepEnded {
            step,
            result,
            spent,
            at_ms,
            ..
        } = event
        else {
            return;
        };
        let (agent, task_id) = (&*out.agent, &*out.task_id);
        let ms = at_ms.saturating_sub(out.at_ms);
        let tokens = spent.map(|spent| spent.tokens);
        match result {
            StepResult::DelegationEnded(ended) if ended.state == "completed" => {
                let DelegationResult { text, data, .. } = ended;
                let answered = json!([text, data]).to_string();
                say!(
                    info,
                    of,
                    %step,
                    agent,
                    task_id,
                    ms,
                    tokens,
                    digest = digest(&answered),
                    bytes = answered.len(),
                    "an agent has answered"
                );
                let data = match data.is_empty() {
                    true => String::new(),
                    false => shown(&json!(data)),
                };
                let text = redact::error(text);
                say!(debug, of, %step, agent, task_id, text, data, "what an agent has answered");
            }
            StepResult::Cancelled => {
                say!(info, of, %step, agent, task_id, ms, "an agent was called back");
            }
            result => {
                let (kind, error) = match result {
                    StepResult::DelegationEnded(ended) if ended.error.is_empty() => {
                        (&*ended.state, format!("the task is {}", ended.state))
                    }
                    StepResult::DelegationEnded(ended) => (&*ended.state, logged(&ended.error)),
                    StepResult::Failed(failure) => ("failed", logged(&failure.message)),
                    _ => ("failed", String::new()),
                };
                // The text of an error has its sources, one after the other, wherever it was made of an error that has any.
                match self.is_grave {
                    true => {
                        say!(error, of, %step, agent, task_id, ms, error_type = kind, error, "an agent failed");
                    }
                    false => {
                        say!(warn, of, %step, agent, task_id, ms, error_type = kind, error, "an agent failed");
                    }
                }
            }
        }
    }
}

/// Tells whether two texts are the same, and nothing else of them.
pub(super) fn digest(text: &str) -> String {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes());
    id.simple().to_string()
}

/// A value as people may see it: without secrets, at most 500 characters of it.
pub(super) fn shown(value: &Value) -> String {
    match redact::value(value) {
        Value::String(text) => redact::error(&text),
        clean => redact::error(&clean.to_string()),
    }
}

/// An error for the log, without secrets and prompts.
fn logged(error: &str) -> String {
    redact::error(cassette::without_difference(error))
}
