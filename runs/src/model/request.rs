//! What goes into a model and what comes out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{estimate_tokens, quote};

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The instructions. Providers that keep them apart get all of them, in order.
    System,
    /// The person, or whoever asks.
    User,
    /// The model itself, in an earlier answer.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words of the message's role.
    Text(String),
    /// Material to look at: quoted data, never instructions. Reaches a provider as [`quote::data`] renders it.
    Data {
        /// What the data is, such as `agents` or `results`.
        label: String,
        /// The data.
        value: Value,
    },
    /// A call that the model made in an earlier answer.
    ToolCall(ToolCall),
    /// What a called tool answered.
    ToolResult {
        /// The id of the [`ToolCall`] that this answers.
        call_id: String,
        /// The name of the tool.
        name: String,
        /// The answer. Quoted data as well.
        value: Value,
    },
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of several parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts }
    }

    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, vec![Part::Text(text.into())])
    }

    /// Words of the person who asks.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::Text(text.into())])
    }

    /// An earlier answer of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Part::Text(text.into())])
    }

    /// Quoted data. It is sent in the user's turn, which is where providers accept it anywhere in a conversation.
    pub fn data(label: impl Into<String>, value: Value) -> Self {
        Self::new(
            Role::User,
            vec![Part::Data {
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
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The message as a provider reads it: texts as they are, data quoted, calls and results left out.
    pub fn rendered(&self) -> String {
        let pieces: Vec<String> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.clone()),
                Part::Data { label, value } => Some(quote::data(label, value)),
                Part::ToolCall(_) | Part::ToolResult { .. } => None,
            })
            .collect();
        pieces.join("\n")
    }
}

/// The form that the answer is wanted in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Words.
    #[default]
    Text,
    /// One JSON value. Models do not all keep to the schema: check what comes back.
    Json {
        /// What the value is, such as `decision`; `[A-Za-z0-9_-]{1,64}`.
        name: String,
        /// Its JSON Schema.
        schema: Value,
    },
}

/// Something that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// When to call it and what it does.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// The agent that a call hands work to, where the description presents one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Presented>,
}

/// An agent as a tool's description presents it. Models read the description; this is for programs that stand in for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presented {
    /// The agent's id.
    pub id: String,
    /// The byte of the description from which on the words are the agent's own.
    pub own_words_at: usize,
}

impl Tool {
    /// The description without the words that presenting any agent takes.
    pub fn own_words(&self) -> &str {
        let at = self.agent.as_ref().map_or(0, |agent| agent.own_words_at);
        self.description.get(at..).unwrap_or(&self.description)
    }
}

/// Nobody but the system says anything in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request has no message to answer")]
pub struct EmptyRequest;

/// A question to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The form of the answer.
    pub output: Output,
    /// What the model may call instead of, or besides, answering.
    pub tools: Vec<Tool>,
    /// The length that the answer must not exceed, in tokens; the provider's own limit if not given.
    pub max_output_tokens: Option<u32>,
    /// How freely to choose words, from 0; the provider's own value if not given. Models without such a setting ignore it.
    pub temperature: Option<f64>,
}

impl Request {
    /// A request for words in answer to `messages`.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// Asks for JSON that matches `schema`.
    pub fn json(mut self, name: impl Into<String>, schema: Value) -> Self {
        self.output = Output::Json {
            name: name.into(),
            schema,
        };
        self
    }

    /// The words of the last user message that has a text part.
    pub fn last_user_text(&self) -> Option<String> {
        self.messages
            .iter()
            .rev()
            .filter(|m| m.role == Role::User)
            .find_map(Message::text)
    }

    /// The last data with this label, wherever it stands.
    pub fn data(&self, label: &str) -> Option<&Value> {
        self.messages
            .iter()
            .rev()
            .flat_map(|m| m.parts.iter().rev())
            .find_map(|part| match part {
                Part::Data {
                    label: found,
                    value,
                } if found == label => Some(value),
                _ => None,
            })
    }

    /// About how many tokens the model has to read, by the rule of thumb of [`estimate_tokens`](super::estimate_tokens).
    pub fn estimate_tokens(&self) -> usize {
        let of_part = |part: &Part| match part {
            Part::ToolCall(call) => estimate_tokens(&call.arguments.to_string()),
            Part::ToolResult { value, .. } => estimate_tokens(&value.to_string()),
            Part::Text(_) | Part::Data { .. } => 0,
        };
        let of_message = |message: &Message| {
            estimate_tokens(&message.rendered()) + message.parts.iter().map(of_part).sum::<usize>()
        };
        let of_tool = |tool: &Tool| {
            estimate_tokens(&tool.name)
                + estimate_tokens(&tool.description)
                + estimate_tokens(&tool.parameters.to_string())
        };
        self.messages.iter().map(of_message).sum::<usize>()
            + self.tools.iter().map(of_tool).sum::<usize>()
    }

    /// Refuses what no model can answer.
    ///
    /// # Errors
    ///
    /// [`EmptyRequest`] when nobody but the system says anything.
    pub fn check(&self) -> Result<(), EmptyRequest> {
        let said = self
            .messages
            .iter()
            .any(|m| m.role != Role::System && !m.parts.is_empty());
        if said { Ok(()) } else { Err(EmptyRequest) }
    }
}

/// A tool call that the model wants made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the result to the call; unique within an answer.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: Value,
}

/// What a call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Tokens written, those of unseen reasoning included.
    pub output_tokens: u64,
    /// Whether they are an estimate, and not the provider's count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_estimated: bool,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The text, or the JSON as text; empty when the model only calls tools.
    pub text: String,
    /// The calls that the model wants made, in order.
    pub tool_calls: Vec<ToolCall>,
    /// The cost, where the provider told it.
    pub usage: Option<Usage>,
}
