//! Requests to models, and completions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{estimate_tokens, quote};

/// Speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptRole {
    /// System instructions. Providers that keep them apart get all of them, in order.
    System,
    /// The person, or another requester.
    User,
    /// The model itself, in an earlier answer.
    Assistant,
    /// A called tool.
    Tool,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptPart {
    /// Text of the message's role.
    Text(String),
    /// Quoted data, never instructions. Reaches a provider as [`quote::data`] renders it.
    Data {
        /// Kind of the data, such as `agents` or `results`.
        label: String,
        /// The data.
        value: Value,
    },
    /// A tool call from an earlier answer.
    ToolCall(ToolCall),
    /// Result of a tool call.
    ToolResult {
        /// Id of the [`ToolCall`] that this answers.
        call_id: String,
        /// The name of the tool.
        name: String,
        /// The result, also quoted data.
        value: Value,
    },
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// Its speaker.
    pub role: PromptRole,
    /// Its content, in order.
    pub parts: Vec<PromptPart>,
}

impl PromptMessage {
    /// A message of several parts.
    pub fn new(role: PromptRole, parts: Vec<PromptPart>) -> Self {
        Self { role, parts }
    }

    /// A message with instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(PromptRole::System, vec![PromptPart::Text(text.into())])
    }

    /// A message of the requester.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(PromptRole::User, vec![PromptPart::Text(text.into())])
    }

    /// An earlier answer of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(PromptRole::Assistant, vec![PromptPart::Text(text.into())])
    }

    /// A message with quoted data. SentHandoff in the user's turn, which providers accept anywhere in a conversation.
    pub fn data(label: impl Into<String>, value: Value) -> Self {
        Self::new(
            PromptRole::User,
            vec![PromptPart::Data {
                label: label.into(),
                value,
            }],
        )
    }

    /// The text parts of the message, one per line; `None` where there are none.
    pub fn text(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                PromptPart::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The message as a provider reads it: texts unchanged, data quoted, calls and results omitted.
    pub fn rendered(&self) -> String {
        let pieces: Vec<String> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                PromptPart::Text(text) => Some(text.clone()),
                PromptPart::Data { label, value } => Some(quote::data(label, value)),
                PromptPart::ToolCall(_) | PromptPart::ToolResult { .. } => None,
            })
            .collect();
        pieces.join("\n")
    }
}

/// Requested format of the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Text.
    #[default]
    Text,
    /// One JSON value. Not all models keep to the schema: check the answer.
    Json {
        /// Kind of the value, such as `decision`; `[A-Za-z0-9_-]{1,64}`.
        name: String,
        /// Its JSON Schema.
        schema: Value,
    },
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// Purpose and use of the tool, for the model.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// The agent behind the tool, if the description presents one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<PresentedAgent>,
}

/// The agent that a tool's description presents. Models read the description; this is for programs that stand in for
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresentedAgent {
    /// The agent's id.
    pub id: String,
    /// Byte offset in the description from which on the text is the agent's own.
    pub own_words_at: usize,
}

impl ToolSpec {
    /// The agent's own part of the description.
    pub fn own_words(&self) -> &str {
        let at = self.agent.as_ref().map_or(0, |agent| agent.own_words_at);
        self.description.get(at..).unwrap_or(&self.description)
    }
}

/// The agent that asks the model. Models are not told; this is for programs that stand in for one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// The agent's id.
    pub id: String,
    /// True if its author says in words how it is to work, beside what holds for all agents.
    pub is_instructed: bool,
}

/// Error: a request contains system messages only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request has no message to answer")]
pub struct EmptyRequest;

/// A question to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The conversation so far, oldest first.
    pub messages: Vec<PromptMessage>,
    /// Requested format of the answer.
    pub output: Output,
    /// Tools that the model may call instead of, or besides, answering.
    pub tools: Vec<ToolSpec>,
    /// Maximum length of the answer, in tokens; the provider's default if `None`.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature, from 0; the provider's default if `None`. Models without such a setting ignore it.
    pub temperature: Option<f64>,
    /// The agent that asks, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<Asker>,
}

impl Request {
    /// A request for a text answer to `messages`.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// Requests JSON that matches `schema`.
    pub fn json(mut self, name: impl Into<String>, schema: Value) -> Self {
        self.output = Output::Json {
            name: name.into(),
            schema,
        };
        self
    }

    /// Id of the agent that asks; empty where it does not say so.
    pub fn asker_id(&self) -> &str {
        self.asker.as_ref().map_or("", |asker| &asker.id)
    }

    /// The last user message that has a text part, as text.
    pub fn last_user_text(&self) -> Option<String> {
        self.messages
            .iter()
            .rev()
            .filter(|m| m.role == PromptRole::User)
            .find_map(PromptMessage::text)
    }

    /// The last data with this label.
    pub fn data(&self, label: &str) -> Option<&Value> {
        self.messages
            .iter()
            .rev()
            .flat_map(|m| m.parts.iter().rev())
            .find_map(|part| match part {
                PromptPart::Data {
                    label: found,
                    value,
                } if found == label => Some(value),
                _ => None,
            })
    }

    /// Estimated input tokens, by [`estimate_tokens`](super::estimate_tokens).
    pub fn estimate_tokens(&self) -> usize {
        let of_part = |part: &PromptPart| match part {
            PromptPart::ToolCall(call) => estimate_tokens(&call.arguments.to_string()),
            PromptPart::ToolResult { value, .. } => estimate_tokens(&value.to_string()),
            PromptPart::Text(_) | PromptPart::Data { .. } => 0,
        };
        let of_message = |message: &PromptMessage| {
            estimate_tokens(&message.rendered()) + message.parts.iter().map(of_part).sum::<usize>()
        };
        let of_tool = |tool: &ToolSpec| {
            estimate_tokens(&tool.name)
                + estimate_tokens(&tool.description)
                + estimate_tokens(&tool.parameters.to_string())
        };
        self.messages.iter().map(of_message).sum::<usize>()
            + self.tools.iter().map(of_tool).sum::<usize>()
    }

    /// Checks that a model can answer.
    ///
    /// # Errors
    ///
    /// [`EmptyRequest`] if there are system messages only.
    pub fn check(&self) -> Result<(), EmptyRequest> {
        let said = self
            .messages
            .iter()
            .any(|m| m.role != PromptRole::System && !m.parts.is_empty());
        if said { Ok(()) } else { Err(EmptyRequest) }
    }
}

/// A tool call requested by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id that links the result to the call; unique within an answer.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: Value,
}

/// Cost of a model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens, hidden reasoning included.
    pub output_tokens: u64,
    /// True if the counts are an estimate instead of the provider's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_estimated: bool,
}

/// Extent of what a model declares undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undone {
    /// Some of the request: the answer is the best there is.
    Part,
    /// All of the request: the answer says so and gives nothing.
    All,
}

impl Undone {
    /// The extent in two words, for behind the state of what has ended.
    pub fn label(self) -> &'static str {
        match self {
            Self::Part => "in part",
            Self::All => "nothing done",
        }
    }
}

/// Answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The text, or the JSON as text; empty if the model only calls tools.
    pub text: String,
    /// The requested tool calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Cost, if the provider reported it.
    pub usage: Option<Usage>,
    /// Declared by the model itself, `None` if it declares nothing. Providers have no such declaration; the offline
    /// stand-in does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
    /// The parts that are undone, in words, as far as the model names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}
