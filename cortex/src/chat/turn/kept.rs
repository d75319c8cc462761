//! Data of chat turns in journals. Later releases read it back: fields are added, never renamed.

use agenthub_sdk::{model::PromptMessage, runs::RunOutcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chat::prompt::{Agents, Named, Running};

/// Input of a chat turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Input {
    /// The user's words.
    pub(crate) words: String,
    /// Structured parts of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attached: Vec<Value>,
    /// Name, type and size of each file that came along.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<Value>,
    /// The most tokens of the words that the model is shown.
    pub(crate) longest: usize,
    /// Decisions; in the last one no task is handed over.
    pub(crate) max_rounds: u32,
    /// The time for a task, in milliseconds.
    pub(crate) delegation_ms: u64,
    /// True if an answer in prose is one. Journals of older releases do not say so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) takes_prose: bool,
    /// True if the model hands tasks over by calling a tool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) calls_tools: bool,
    /// The reason why there is nothing to decide, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

/// Result of a look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TurnContext {
    /// The agents that are here.
    pub(crate) agents: Agents,
    /// Agents that the user's words name.
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub(crate) named: Named,
    /// Earlier messages, oldest first.
    pub(crate) history: Vec<PromptMessage>,
    /// The tasks that other turns of the conversation wait for.
    pub(crate) running: Vec<Running>,
    /// The look was broken off: when to look again, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) again_at_ms: Option<u64>,
}

/// Input of a look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Query {
    /// The user's words, to choose among many agents.
    pub(crate) words: String,
    /// Agents that completed tasks of the turn; `None` in the first round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completed_by: Option<Vec<String>>,
}

/// Place of a question in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// From 1.
    pub(crate) round: u32,
    /// From 1.
    pub(crate) attempt: u32,
}

impl Question {
    /// The name of its step.
    pub(crate) fn step(self) -> String {
        match self.attempt {
            1 => format!("turn-{}", self.round),
            attempt => format!("turn-{}/try-{attempt}", self.round),
        }
    }

    /// The question that this step is, if it is one.
    pub(crate) fn of(step: &str) -> Option<Self> {
        let rest = step.strip_prefix("turn-")?;
        let (round, attempt) = rest.split_once("/try-").unwrap_or((rest, "1"));
        Some(Self {
            round: round.parse().ok()?,
            attempt: attempt.parse().ok()?,
        })
    }
}

/// The reason why the model never decided, of a run that ends so: why its last answer was refused.
pub(crate) fn undecided(outcome: &RunOutcome) -> Option<&str> {
    match outcome {
        RunOutcome::Completed { data, .. } => data["undecided"].as_str(),
        _ => None,
    }
}
