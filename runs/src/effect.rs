//! What a run does to the world, and what the world answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    approval::Approval,
    budget::{Budget, Spent},
    id::StepId,
    model::{Request, ToolCall},
};

/// A step that a strategy wants to have been done.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name: the same whenever the strategy is asked.
    pub id: StepId,
    /// What it does.
    pub effect: Effect,
    /// How often it is tried.
    pub retry: Retry,
    /// The time for one attempt, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The pause between two attempts doubles each time, up to this many milliseconds. It stays the same if not given.
    pub longest_pause_ms: Option<u64>,
}

impl Step {
    /// How often a question to the model is tried: 6 times.
    pub const MODEL_ATTEMPTS: u32 = 6;

    /// A question to the model. Where it is not answered for the moment, as when the answer breaks off, it is asked again, up to
    /// [`MODEL_ATTEMPTS`](Self::MODEL_ATTEMPTS) times, after pauses that double from 1 s up to 30 s.
    pub fn ask(id: impl Into<String>, request: Request) -> Self {
        Self {
            retry: Retry {
                attempts: Self::MODEL_ATTEMPTS,
                pause_ms: 1_000,
            },
            longest_pause_ms: Some(30_000),
            ..Self::new(id, Effect::Ask(Box::new(request)))
        }
    }

    /// A step that is tried once, without a limit of its own.
    pub fn new(id: impl Into<String>, effect: Effect) -> Self {
        Self {
            id: StepId::new(id),
            effect,
            retry: Retry::default(),
            timeout_ms: None,
            longest_pause_ms: None,
        }
    }

    /// The time for one attempt.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// How often it is tried.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// How long to wait after this attempt has failed, from 1, in milliseconds.
    pub(crate) fn pause_ms(&self, attempt: u32) -> u64 {
        let pause_ms = self.retry.pause_ms;
        match self.longest_pause_ms {
            None => pause_ms,
            Some(longest_ms) => pause_ms
                .saturating_mul(2u64.saturating_pow(attempt.saturating_sub(1)))
                .min(longest_ms),
        }
    }
}

/// How often a step is tried, and how long to wait in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// All attempts together; at least 1.
    pub attempts: u32,
    /// The pause after a failure, in milliseconds.
    pub pause_ms: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 1,
            pause_ms: 0,
        }
    }
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Looks at who and what is there. Costs nothing and changes nothing, so only what was seen is journaled.
    Look(Value),
    /// Asks the model.
    Ask(Box<Request>),
    /// Calls a tool.
    Call(ToolCall),
    /// Hands work to an agent.
    Delegate(Handoff),
    /// Says something to who waits for the run, before it is over.
    Say(String),
    /// Waits until this time, in milliseconds since 1970.
    Wait(u64),
    /// Writes something down for those who watch and for later decisions; done once it is journaled ([`Facts::noted`](crate::Facts::noted)).
    Note(Value),
    /// Asks a person.
    Approve(Approval),
}

/// *Who* shall do *what*, with *what*.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handoff {
    /// The agent's id; empty lets the hub choose one that has the capability.
    pub agent: String,
    /// What for: a task type or skill.
    pub capability: String,
    /// The request in words.
    pub text: String,
    /// The request as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Further metadata of the message.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The tool by which the model asked for it, for those who watch; it is not sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool: String,
}

/// A handoff as it goes out. Sending it again sends the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Who, what, with what.
    pub handoff: Handoff,
    /// The task that it makes.
    pub task_id: String,
    /// The message that makes it.
    pub message_id: String,
    /// When the task must be over.
    pub deadline_ms: u64,
    /// What the agent, and everything that it leads to, may use.
    #[serde(default)]
    pub budget: Budget,
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The result, or the error's text.
    pub value: Value,
    /// Whether the tool failed. The model is told, and can mend what it asked for.
    #[serde(default)]
    pub is_error: bool,
}

impl ToolOutput {
    /// What a tool that failed says.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            value: Value::String(text.into()),
            is_error: true,
        }
    }
}

impl<T: Into<Value>> From<T> for ToolOutput {
    fn from(value: T) -> Self {
        Self {
            value: value.into(),
            is_error: false,
        }
    }
}

/// What became of work that was handed to an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delegated {
    /// Who worked on it.
    pub agent: String,
    /// The state of its task: `completed`, `failed`, `rejected`, `cancelled`, `input-required`; or `timed-out`, `away`, `lost`.
    pub state: String,
    /// The result in words.
    pub text: String,
    /// The result as data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<Value>,
    /// Why there is none; empty if there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// What it used, if the agent told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// The model that the agent thought with, as `provider/model`; empty if it did not tell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// Why a step came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Why, in words.
    pub message: String,
    /// Whether another attempt may succeed.
    #[serde(default)]
    pub is_retryable: bool,
}

impl Failure {
    /// A failure that would happen again.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_retryable: false,
        }
    }

    /// A failure that may not happen again.
    pub fn passing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_retryable: true,
        }
    }
}
