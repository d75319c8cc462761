//! Prompt of a chat turn's model.

mod agents;

use agenthub_sdk::model::{Asker, PromptMessage, PromptPart, PromptRole, Request, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use agents::{Agents, Named, Present};

use super::{decision, outcome::TaskOutcome};
use crate::origin::CORTEX;

const SYSTEM: &str = include_str!("../../prompts/system.md");
const JSON: &str = include_str!("../../prompts/answer_json.md");
const WORDS_AND_CALLS: &str = include_str!("../../prompts/answer_calls.md");
const LAST_ROUND: &str = include_str!("../../prompts/last_round.md");

/// The place in the rules where stands what the model answers with.
const ANSWER: &str = "{answer}";

/// A task that another turn of the conversation waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// The agent that works on it.
    pub(crate) agent: String,
    /// The type of its task.
    pub(crate) task_type: String,
}

/// An answer of the model that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejected {
    /// Its words, shortened.
    pub(crate) answer: String,
    /// The reason why that was no decision.
    pub(crate) reason: String,
}

/// Everything that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prompt<'a> {
    /// The agents that are here.
    pub(crate) agents: &'a Agents,
    /// Agents that the user's words name.
    pub(crate) named: &'a Named,
    /// Earlier messages, oldest first.
    pub(crate) history: &'a [PromptMessage],
    /// The user's words.
    pub(crate) words: &'a str,
    /// The structured parts of what the user says.
    pub(crate) attached: &'a [Value],
    /// The files that came along, as they are told of.
    pub(crate) files: &'a [Value],
    /// Answers to the user in this turn.
    pub(crate) answers: &'a [String],
    /// Results that came back in this turn.
    pub(crate) results: &'a [TaskOutcome],
    /// The tasks that other turns wait for.
    pub(crate) running: &'a [Running],
    /// The answer before this one, if it was no decision.
    pub(crate) rejected: Option<&'a Rejected>,
    /// True if no task can be handed over any more.
    pub(crate) is_last_round: bool,
    /// True if the model hands tasks over by calling a tool.
    pub(crate) calls_tools: bool,
}

impl Prompt<'_> {
    /// The request that asks for a decision.
    pub(crate) fn request(&self) -> Request {
        let mut messages = vec![PromptMessage::system(self.rules())];
        messages.push(PromptMessage::data("agents", self.agents.to_json()));
        if !self.named.is_empty() {
            messages.push(PromptMessage::data("named", json!(self.named)));
        }
        messages.extend_from_slice(self.history);
        if !self.running.is_empty() {
            let running = self.running.iter();
            let running = running.map(|r| json!({"agent": r.agent, "task_type": r.task_type}));
            messages.push(PromptMessage::data("running", running.collect()));
        }
        messages.push(self.said());
        messages.extend(self.answers.iter().map(PromptMessage::assistant));
        if !self.results.is_empty() {
            let results = self.results.iter().map(|r| r.to_json(self.results.len()));
            messages.push(PromptMessage::data("results", results.collect()));
        }
        if let Some(rejected) = self.rejected {
            let value = json!({"answer": rejected.answer, "reason": rejected.reason});
            messages.push(PromptMessage::data("rejected", value));
        }
        let request = Request {
            asker: Some(Asker {
                id: CORTEX.to_owned(),
                is_instructed: false,
            }),
            ..Request::new(messages)
        };
        match self.calls_tools {
            true => Request {
                tools: self.tools(),
                ..request
            },
            false => request.json("decision", decision::SCHEMA.clone()),
        }
    }

    fn tools(&self) -> Vec<ToolSpec> {
        match self.is_last_round || self.agents.candidates().is_empty() {
            true => Vec::new(),
            false => vec![decision::tool()],
        }
    }

    fn rules(&self) -> String {
        let answer = match self.calls_tools {
            true => WORDS_AND_CALLS,
            false => JSON,
        };
        let mut rules = SYSTEM.trim_end().replace(ANSWER, answer.trim_end());
        let left_out = self.agents.left_out();
        if left_out > 0 {
            rules.push_str(&format!(
                "\n\n# Agents left out\n\n{left_out} more agents are here whose cards do not fit; the `agents` block shows \
                 those that match the user's words best."
            ));
        }
        if self.is_last_round {
            rules.push_str("\n\n");
            rules.push_str(LAST_ROUND.trim_end());
        }
        rules
    }

    /// The user's words, and what is attached to them.
    fn said(&self) -> PromptMessage {
        let mut parts = vec![PromptPart::Text(self.words.to_owned())];
        for (label, values) in [("attached", self.attached), ("file", self.files)] {
            parts.extend(values.iter().map(|value| PromptPart::Data {
                label: label.to_owned(),
                value: value.clone(),
            }));
        }
        PromptMessage::new(PromptRole::User, parts)
    }
}

#[cfg(test)]
mod tests;
