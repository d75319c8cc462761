//! Bodies of what a connector mirrors of the hub: messages, states of tasks, and gaps.

use agenthub_sdk::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Type of a [`MirroredMessage`], as CloudEvents has it.
pub const MESSAGE: &str = "agenthub.message";

/// Type of a [`MirroredState`].
pub const STATE: &str = "agenthub.task.state";

/// Type of a [`Gap`].
pub const GAP: &str = "agenthub.events.missed";

/// Header with the topics that a message has passed, the first one first, with commas in between.
pub const VIA: &str = "agenthub_via";

/// A message of the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirroredMessage {
    /// Id that its sender gave it.
    pub message_id: String,
    /// Conversation.
    pub context_id: String,
    /// Task that it makes or belongs to; null if none.
    pub task_id: Option<String>,
    /// Side of its sender.
    pub role: Side,
    /// Agent or client that sent it.
    pub sender: String,
    /// Agent that it is for; null if it goes by topic, task or skill.
    pub recipient: Option<String>,
    /// Topics of the hub that it was published on.
    pub topics: Vec<String>,
    /// Skill or kind of work; null if none is named.
    pub task_type: Option<String>,
    /// Content. Empty if it is left out.
    pub parts: Vec<MirroredPart>,
    /// Values beside the content.
    pub metadata: Map<String, Value>,
    /// Bytes of the content, if it is left out because the record would be too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_bytes: Option<u64>,
}

/// A change of a task's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirroredState {
    /// Task.
    pub task_id: String,
    /// Conversation.
    pub context_id: String,
    /// State since then.
    pub state: TaskStateName,
    /// True for the last state of the task.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Reporter of the state: the agent at work, the requester that cancelled, or the hub.
    pub sender: String,
    /// Receiver of the report, if the report names somebody.
    pub recipient: Option<String>,
    /// Time of the change, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    /// Words about it. Empty if there are none, or if they are left out.
    pub parts: Vec<MirroredPart>,
    /// Values beside the words.
    pub metadata: Map<String, Value>,
    /// Bytes of the words, if they are left out because the record would be too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_bytes: Option<u64>,
}

/// Events of the hub that are not on the topic, as the hub no longer had them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Position in the hub's log after which events are missing.
    pub after: String,
    /// Reason, in the hub's words.
    pub reason: String,
}

/// A part of a message: one of `text`, `data`, `uri` and `bytes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MirroredPart {
    /// Text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Address of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Content of a file, in Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// MIME type of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Name of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Side of a message's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The asker.
    User,
    /// The answerer.
    Agent,
}

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskStateName {
    /// Nobody has begun it.
    Submitted,
    /// Its agent is at work.
    Working,
    /// It waits for input.
    InputRequired,
    /// It waits for credentials.
    AuthRequired,
    /// It was done.
    Completed,
    /// It was not done.
    Failed,
    /// It was called back.
    Cancelled,
    /// Its agent does not take it.
    Rejected,
}
