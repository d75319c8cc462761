//! Calls of agents and tools in a run.

use agenthub_sdk::{model::ToolCall, runs::SentHandoff};
use serde_json::Value;

/// Something that was called.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool's name, as the agent's model called it.
    pub tool: String,
    /// The agent behind it; nothing for a tool.
    pub agent: Option<String>,
    /// The request, in words.
    pub task: String,
    /// Data that went with it.
    pub inputs: Value,
    /// Number of the model's answers before: calls with the same number went out together.
    pub turn: u32,
    /// `working`, `completed`, `failed`, or another state of its task.
    pub state: String,
    /// True if it says of itself that it did nothing.
    pub gave_nothing: bool,
    /// Time at which it went out, in milliseconds since 1970.
    pub begun_ms: u64,
    /// Time at which it came back.
    pub ended_ms: Option<u64>,
    /// Its passage.
    pub passage: u32,
}

impl Call {
    /// The agent or tool that was called.
    pub fn name(&self) -> &str {
        self.agent.as_deref().unwrap_or(&self.tool)
    }
}

pub(super) fn called(call: &ToolCall) -> Call {
    Call {
        tool: call.name.clone(),
        agent: None,
        task: String::new(),
        inputs: call.arguments.clone(),
        ..unsent()
    }
}

pub(super) fn delegated(sent: &SentHandoff) -> Call {
    let handoff = &sent.handoff;
    let tool = [&handoff.tool, &handoff.agent, &handoff.capability];
    let tool = tool.into_iter().find(|name| !name.is_empty());
    Call {
        tool: tool.cloned().unwrap_or_default(),
        agent: Some(handoff.agent.clone()).filter(|agent| !agent.is_empty()),
        task: handoff.text.clone(),
        inputs: handoff.payload.clone().unwrap_or_default(),
        ..unsent()
    }
}

/// Parts of a call that are not known yet.
fn unsent() -> Call {
    Call {
        tool: String::new(),
        agent: None,
        task: String::new(),
        inputs: Value::Null,
        turn: 0,
        state: "working".to_owned(),
        gave_nothing: false,
        begun_ms: 0,
        ended_ms: None,
        passage: 0,
    }
}
