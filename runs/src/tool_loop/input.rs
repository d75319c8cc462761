//! What a tool loop begins with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ErrorMode, Form, Peer};
use crate::model::{Message, Tool};

/// What a tool loop begins with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Input {
    /// Who the agent is and how it works.
    pub instructions: String,
    /// Whether what was said earlier in the conversation is looked up first ([`CONVERSATION`](super::CONVERSATION)). It stands before `messages`.
    pub conversation: bool,
    /// What was said so far; the last message asks.
    pub messages: Vec<Message>,
    /// How far it may go.
    pub limits: Limits,
    /// How freely to choose words; the provider's own value if not given.
    pub temperature: Option<f64>,
    /// The longest answer of one turn, in tokens; the provider's own limit if not given.
    pub max_output_tokens: Option<u32>,
    /// What the answer has to be; words if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// What follows when an agent that was asked fails.
    #[serde(skip_serializing_if = "ErrorMode::is_tell")]
    pub on_failure: ErrorMode,
    /// What the journal says of the run besides, for those who read it. It is told to no model.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub about: Value,
}

/// How far a tool loop may go. Checked before a call, never after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Questions to the model; at least 1. In the last one no tool is offered. Mending an answer does not count.
    pub turns: u32,
    /// Calls of tools, those of agents among them.
    pub tool_calls: u32,
    /// The time for one call of a tool, in milliseconds.
    pub tool_timeout_ms: u64,
    /// The time for one agent that is asked, in milliseconds.
    pub agent_timeout_ms: u64,
    /// The time for one question to the model, in milliseconds.
    pub model_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 16,
            tool_calls: 64,
            tool_timeout_ms: 60_000,
            agent_timeout_ms: 300_000,
            model_timeout_ms: 180_000,
        }
    }
}

/// A tool that is there at this moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// What the model is told of it.
    pub tool: Tool,
    /// The agent behind it; none for a tool of the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Peer>,
}
