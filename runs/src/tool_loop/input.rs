//! Input of a tool loop.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AnswerForm, ErrorMode, Peer};
use crate::model::{Asker, PromptMessage, ToolSpec};

/// Input of a tool loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Input {
    /// The agent's instructions.
    pub instructions: String,
    /// The agent, for programs that stand in for a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asker: Option<Asker>,
    /// True if the earlier conversation is queried first ([`CONVERSATION`](super::CONVERSATION)) and put before
    /// `messages`.
    pub conversation: bool,
    /// The conversation; the last message is the request.
    pub messages: Vec<PromptMessage>,
    /// Limits of the loop.
    pub limits: Limits,
    /// Sampling temperature; the provider's default if `None`.
    pub temperature: Option<f64>,
    /// Maximum length of one answer, in tokens; the provider's default if `None`.
    pub max_output_tokens: Option<u32>,
    /// Required structure of the answer; text if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<AnswerForm>,
    /// Handling of failed agents.
    #[serde(skip_serializing_if = "ErrorMode::is_tell")]
    pub on_failure: ErrorMode,
    /// Additional data for readers of the journal. Never sent to a model.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub about: Value,
    /// Id of the run, shown with approvals; empty if no tool needs one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The run's agent, likewise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
}

/// Limits of a tool loop. Checked before a call, never after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Questions to the model; at least 1. The last one offers no tools. Corrections of an answer do not count.
    pub turns: u32,
    /// Calls of tools and agents.
    pub tool_calls: u32,
    /// Timeout of a tool call, in milliseconds.
    pub tool_timeout_ms: u64,
    /// Timeout of a called agent, in milliseconds.
    pub agent_timeout_ms: u64,
    /// Timeout of a question to the model, in milliseconds.
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

/// An available tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AvailableTool {
    /// Description for the model.
    pub tool: ToolSpec,
    /// The agent behind it; `None` for the agent's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Peer>,
    /// True if each call needs a person's approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_approval: bool,
}
