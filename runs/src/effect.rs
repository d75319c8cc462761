//! Effects of a run, and their results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    approval::Approval,
    budget::{Budget, Spent},
    id::StepId,
    model::{Request, ToolCall},
};

/// A step requested by a strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Name of the step, stable across calls of the strategy.
    pub id: StepId,
    /// The effect to perform.
    pub effect: Effect,
    /// Retry policy.
    pub retry: Retry,
    /// Timeout of one attempt, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Maximum of the pause between attempts, in milliseconds. If set, the pause doubles up to it; if `None`, it is
    /// constant.
    pub longest_pause_ms: Option<u64>,
}

impl Step {
    /// Attempts at a question to the model: 6.
    pub const MODEL_ATTEMPTS: u32 = 6;

    /// A question to the model. Retried on passing failures, such as an answer that breaks off, up to
    /// [`MODEL_ATTEMPTS`](Self::MODEL_ATTEMPTS) times, with pauses that double from 1 s up to 30 s.
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

    /// A step with one attempt and no timeout.
    pub fn new(id: impl Into<String>, effect: Effect) -> Self {
        Self {
            id: StepId::new(id),
            effect,
            retry: Retry::default(),
            timeout_ms: None,
            longest_pause_ms: None,
        }
    }

    /// Sets the timeout of one attempt.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Pause after this attempt (from 1) failed, in milliseconds.
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

/// Retry policy of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Total attempts; at least 1.
    pub attempts: u32,
    /// Pause after a failed attempt, in milliseconds.
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

/// An effect on the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Queries the world. Has no cost and no side effects, so only the observed value is journaled.
    Look(Value),
    /// Asks the model.
    Ask(Box<Request>),
    /// Calls a tool.
    Call(ToolCall),
    /// Hands work to an agent.
    Delegate(Handoff),
    /// Sends a message to the requester before the run ends.
    Say(String),
    /// Waits until this time, in milliseconds since 1970.
    Wait(u64),
    /// Journals a value for watchers and later decisions; done once journaled ([`Facts::noted`](crate::Facts::noted)).
    Note(Value),
    /// Asks a person for approval.
    Approve(Approval),
}

/// Work for an agent: the agent, its capability, the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handoff {
    /// The agent's id; empty lets the hub choose one that has the capability.
    pub agent: String,
    /// Task type or skill.
    pub capability: String,
    /// The request in words.
    pub text: String,
    /// The request as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// True if the files of the message that the run answers go with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub files: bool,
    /// Further metadata of the message.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The tool by which the model requested it, for watchers; not sent to the agent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool: String,
}

/// A dispatched handoff. A redispatch sends exactly the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentHandoff {
    /// The handoff.
    pub handoff: Handoff,
    /// Id of the created task.
    pub task_id: String,
    /// Id of the message that creates the task.
    pub message_id: String,
    /// Deadline of the task.
    pub deadline_ms: u64,
    /// Budget of the agent and everything that it leads to.
    #[serde(default)]
    pub budget: Budget,
}

/// Result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The result, or the error's text.
    pub value: Value,
    /// True if the tool failed. The model is told, and can correct its call.
    #[serde(default)]
    pub is_error: bool,
}

impl ToolOutput {
    /// Output of a failed tool.
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

/// Result of a delegation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DelegationResult {
    /// The agent that worked on it.
    pub agent: String,
    /// The state of its task: `completed`, `failed`, `rejected`, `cancelled`, `input-required`; or `timed-out`, `away`, `lost`.
    pub state: String,
    /// The result as text.
    pub text: String,
    /// The result as data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<Value>,
    /// The error; empty on success.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Resources used, if the agent reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// The agent's model, as `provider/model`; empty if it reported none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// Failure of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct EffectFailure {
    /// Message for people.
    pub message: String,
    /// True if another attempt may succeed.
    #[serde(default)]
    pub is_retryable: bool,
}

impl EffectFailure {
    /// A failure that another attempt would meet again.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_retryable: false,
        }
    }

    /// A failure that another attempt may not meet.
    pub fn passing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_retryable: true,
        }
    }
}
