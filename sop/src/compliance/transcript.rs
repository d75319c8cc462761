//! Transcript of a run, made from its journal, in passages that can be quoted.

use std::collections::{BTreeMap, HashSet};

use agenthub_sdk::{
    model::{Completion, PromptMessage, PromptPart, PromptRole},
    runs::{
        RunEvent, RunOutcome, Shortfall, StepId, StepRequest, StepResult,
        model::Undone,
        tool_loop::{AvailableTool, Input},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    call::{Call, called, delegated},
    finding::{Procedure, quotable},
};

/// Labels that the SDK puts on the data of a request.
const INPUT: &str = "input";
const ASKED_FOR: &str = "asked_for";

/// Events of a run, in passages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// In the order in which it happened.
    pub passages: Vec<Passage>,
    /// Calls in the order in which they were begun. Another attempt at a call is the same call.
    pub calls: Vec<Call>,
    /// Agents and tools that could be called, or were, by name.
    pub tools: BTreeMap<String, Tool>,
    /// Data that went with the request, by name.
    pub inputs: BTreeMap<String, Value>,
    /// The passage with the run's answer; nothing where it has none.
    pub answer: Option<u32>,
    /// State of the run: `working`, `completed`, `failed` or `cancelled`.
    pub state: String,
    /// Extent of what the answer lacks; nothing if it is whole.
    pub undone: Option<Undone>,
    /// Beginning, in milliseconds since 1970.
    pub started_ms: u64,
    /// Time at which it ended, or that was decided, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
}

/// Something that was said, or is known of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// From 1, without gaps.
    pub number: u32,
    /// Its kind.
    pub what: PassageKind,
    /// The same in words, with who said it.
    pub title: String,
    /// Its text, word for word.
    pub text: String,
}

/// Kind of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassageKind {
    /// Something that was said earlier in the conversation.
    Earlier,
    /// The request.
    Request,
    /// Words of the agent on the way.
    Words,
    /// A call, with its task and what went with it.
    Call,
    /// A call that was wanted, and did not go out.
    NotCalled,
    /// Result of a call.
    Result,
    /// Result of the run.
    Outcome,
}

impl PassageKind {
    /// True of what was said or done in the run, and not before it, or in vain.
    pub(super) fn is_of_the_run(self) -> bool {
        match self {
            Self::Words | Self::Call | Self::Result | Self::Outcome => true,
            Self::Earlier | Self::Request | Self::NotCalled => false,
        }
    }
}

/// Something that could be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    /// The agent behind it; nothing for a tool.
    pub agent: Option<String>,
    /// The names of what it takes.
    pub inputs: Vec<String>,
    /// Other names that the procedure has for it.
    pub aliases: Vec<String>,
    /// True if the procedure's agent may ask for it, and it was never there.
    pub is_absent: bool,
}

impl Transcript {
    /// The transcript of these events, which begin with the first.
    pub fn of(events: &[RunEvent]) -> Self {
        let begun = events.iter().filter_map(|event| match event {
            RunEvent::StepBegun { step, .. } => Some(step),
            _ => None,
        });
        let mut writing = Writing {
            out: Self {
                state: "working".to_owned(),
                ..Self::default()
            },
            begun: begun.collect(),
            calls: BTreeMap::new(),
            turn: 0,
            stopping: None,
        };
        for event in events {
            writing.write(event);
        }
        writing.stop();
        writing.out
    }

    /// The same with what only the procedure knows of agents: those that were never there, and other names.
    pub(super) fn with_names(mut self, procedure: &Procedure) -> Self {
        let known = |tools: &BTreeMap<String, Tool>, id: &str| {
            let mut known = tools.values();
            known.any(|tool| tool.agent.as_deref() == Some(id))
        };
        for id in &procedure.agents {
            if !known(&self.tools, id) {
                let absent = Tool {
                    agent: Some(id.clone()),
                    is_absent: true,
                    ..Tool::default()
                };
                // No call has this name.
                self.tools.insert(format!("absent {id}"), absent);
            }
        }
        for (alias, id) in &procedure.aliases {
            let mut tools = self.tools.values_mut();
            if let Some(tool) = tools.find(|tool| tool.agent.as_deref() == Some(&**id)) {
                tool.aliases.push(alias.clone());
            }
        }
        self
    }

    /// The passage with this number.
    pub fn passage(&self, number: u32) -> Option<&Passage> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.passages.get(at)
    }

    /// The run's answer, word for word.
    pub fn answer(&self) -> Option<&Passage> {
        self.passage(self.answer?)
    }

    /// True if the run is over.
    pub fn is_over(&self) -> bool {
        self.ended_ms.is_some()
    }
}

/// A transcript that grows.
struct Writing<'a> {
    out: Transcript,
    /// All steps that ever went out.
    begun: HashSet<&'a StepId>,
    /// The calls, by step.
    calls: BTreeMap<&'a StepId, usize>,
    turn: u32,
    /// The end that the run will have, and since when that is decided.
    stopping: Option<(&'a RunOutcome, u64)>,
}

impl<'a> Writing<'a> {
    fn write(&mut self, event: &'a RunEvent) {
        match event {
            RunEvent::Started(started) => {
                self.out.started_ms = started.at_ms;
                let input = Input::deserialize(&started.input).unwrap_or_default();
                for message in input
                    .messages
                    .iter()
                    .filter(|m| m.role != PromptRole::System)
                {
                    self.request(message);
                }
            }
            RunEvent::Observed {
                value: Some(value), ..
            } => self.observe(value),
            RunEvent::StepBegun {
                step, what, at_ms, ..
            } => match what {
                StepRequest::ToolCalled(call) => self.call(step, called(call), *at_ms),
                StepRequest::Delegated(sent) => self.call(step, delegated(sent), *at_ms),
                StepRequest::Said { text } => {
                    self.add(PassageKind::Words, "the agent, on the way", text.clone());
                }
                _ => {}
            },
            RunEvent::StepEnded {
                step,
                result,
                at_ms,
                ..
            } => match result {
                StepResult::ModelAnswered(answer) => self.answered(step, answer),
                result => self.returned(step, result, *at_ms),
            },
            RunEvent::Stopping { outcome, at_ms } => self.stopping = Some((outcome, *at_ms)),
            RunEvent::Ended { outcome, at_ms, .. } => self.end(outcome, *at_ms),
            _ => {}
        }
    }

    fn add(&mut self, what: PassageKind, title: impl Into<String>, text: String) -> u32 {
        let number = u32::try_from(self.out.passages.len() + 1).unwrap_or(u32::MAX);
        self.out.passages.push(Passage {
            number,
            what,
            title: title.into(),
            text,
        });
        number
    }

    fn request(&mut self, message: &PromptMessage) {
        if let Some(text) = message.text() {
            self.add(PassageKind::Request, "the request", text);
        }
        for part in &message.parts {
            let PromptPart::Data { label, value } = part else {
                continue;
            };
            match value.as_object() {
                // That it was asked for its skill says nothing.
                _ if label == ASKED_FOR => continue,
                Some(fields) if label == INPUT => {
                    let fields = fields
                        .iter()
                        .map(|(name, value)| (name.clone(), value.clone()));
                    self.out.inputs.extend(fields);
                }
                _ => {}
            }
            let title = format!("what went with the request: {label}");
            self.add(PassageKind::Request, title, value.to_string());
        }
    }

    fn observe(&mut self, value: &Value) {
        if let Ok(offered) = Vec::<AvailableTool>::deserialize(value) {
            for offer in offered {
                let inputs = offer.tool.parameters["properties"].as_object();
                let tool = Tool {
                    agent: offer.agent.map(|agent| agent.id),
                    inputs: inputs.into_iter().flat_map(|p| p.keys().cloned()).collect(),
                    ..Tool::default()
                };
                self.out.tools.insert(offer.tool.name, tool);
            }
        } else if let Ok(earlier) = Vec::<PromptMessage>::deserialize(value) {
            for message in earlier {
                let who = match message.role {
                    PromptRole::Assistant => "the agent, earlier in the conversation",
                    PromptRole::User => "the request before, earlier in the conversation",
                    PromptRole::System | PromptRole::Tool => continue,
                };
                self.add(PassageKind::Earlier, who, said(&message));
            }
        }
    }

    fn call(&mut self, step: &'a StepId, mut call: Call, at_ms: u64) {
        if self.calls.contains_key(step) {
            return;
        }
        let tool = self.out.tools.entry(call.tool.clone()).or_default();
        tool.agent = tool.agent.take().or_else(|| call.agent.clone());
        let number = self.out.calls.len() + 1;
        let text = match (call.task.as_str(), &call.inputs) {
            (task, Value::Null) => task.to_owned(),
            ("", inputs) => inputs.to_string(),
            (task, inputs) => format!("{task}\n{inputs}"),
        };
        let title = format!("call {number} to {}", call.name());
        call.passage = self.add(PassageKind::Call, title, text);
        (call.turn, call.begun_ms) = (self.turn, at_ms);
        self.out.calls.push(call);
        self.calls.insert(step, number - 1);
    }

    fn returned(&mut self, step: &StepId, result: &StepResult, at_ms: u64) {
        let Some(&at) = self.calls.get(step) else {
            if let StepResult::Failed(failure) = result {
                self.add(PassageKind::Result, "a failure", failure.message.clone());
            }
            return;
        };
        let (state, text) = match result {
            StepResult::ToolReturned(output) if output.is_error => {
                ("failed", quotable(&output.value))
            }
            StepResult::ToolReturned(output) => ("completed", quotable(&output.value)),
            StepResult::DelegationEnded(ended) => {
                let data = ended.data.iter().map(Value::to_string);
                let texts = [ended.text.clone(), ended.error.clone()];
                let texts = texts
                    .into_iter()
                    .chain(data)
                    .filter(|text| !text.is_empty());
                (&*ended.state, texts.collect::<Vec<_>>().join("\n"))
            }
            StepResult::Failed(failure) => ("failed", failure.message.clone()),
            StepResult::Cancelled => ("cancelled", String::new()),
            _ => return,
        };
        let call = &mut self.out.calls[at];
        if let StepResult::DelegationEnded(ended) = result {
            let shortfall = Shortfall::of(&ended.data);
            call.gave_nothing = shortfall.is_some_and(|shortfall| shortfall.is_nothing());
            if !ended.agent.is_empty() {
                call.agent.get_or_insert_with(|| ended.agent.clone());
            }
        }
        state.clone_into(&mut call.state);
        call.ended_ms = Some(at_ms);
        let took = at_ms.saturating_sub(call.begun_ms);
        let title = format!(
            "what {} gave to call {}: {state}, {took} ms",
            call.name(),
            at + 1
        );
        self.add(PassageKind::Result, title, text);
    }

    fn answered(&mut self, step: &StepId, answer: &Completion) {
        self.turn += 1;
        if !answer.text.trim().is_empty() {
            self.add(
                PassageKind::Words,
                "the agent, on the way",
                answer.text.clone(),
            );
        }
        for (number, wanted) in (1..).zip(&answer.tool_calls) {
            let call = StepId::new(format!("{step}/call-{number}"));
            if !self.begun.contains(&call) {
                let title = format!("a call to {} that did not go out", wanted.name);
                self.add(PassageKind::NotCalled, title, wanted.arguments.to_string());
            }
        }
    }

    /// A run whose end is decided is over, though it may be that not everybody has been told: nothing further begins.
    fn stop(&mut self) {
        if let (Some((outcome, at_ms)), None) = (self.stopping, self.out.ended_ms) {
            self.end(outcome, at_ms);
        }
    }

    fn end(&mut self, outcome: &RunOutcome, at_ms: u64) {
        self.out.ended_ms = Some(at_ms);
        outcome.label().clone_into(&mut self.out.state);
        self.out.undone = outcome.shortfall().map(|shortfall| shortfall.extent());
        let (title, text, data) = match outcome {
            RunOutcome::Completed { text, data, .. } => ("the answer", text, data),
            RunOutcome::Failed { error } => ("why the run failed", error, &Value::Null),
            RunOutcome::Cancelled { reason } => ("why the run was cancelled", reason, &Value::Null),
        };
        // The model's last words are mostly the answer.
        let last = self.out.passages.last();
        if last.is_some_and(|last| last.what == PassageKind::Words && last.text == *text) {
            self.out.passages.pop();
        }
        let number = self.add(PassageKind::Outcome, title, text.clone());
        let is_answer = matches!(outcome, RunOutcome::Completed { .. });
        self.out.answer = is_answer.then_some(number);
        if !data.is_null() {
            self.add(PassageKind::Outcome, "the answer as data", data.to_string());
        }
    }
}

fn said(message: &PromptMessage) -> String {
    let parts = message.parts.iter().filter_map(|part| match part {
        PromptPart::Text(text) => Some(text.clone()),
        PromptPart::Data { label, value } => Some(format!("{label}: {value}")),
        PromptPart::ToolCall(_) | PromptPart::ToolResult { .. } => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}
