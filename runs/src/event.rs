//! Events of a run, as its journal stores them.
//!
//! Times are milliseconds since 1970. Later releases read these forms: fields are added, never renamed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    approval::{Approval, Decision},
    budget::{Budget, Spent},
    effect::{DelegationResult, EffectFailure, SentHandoff, ToolOutput},
    id::StepId,
    model::{Completion, ToolCall},
    shortfall::Shortfall,
};

/// An event of a run. It is durable before its effect starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "few at a time, and short-lived")]
pub enum RunEvent {
    /// The run was created.
    Started(RunStarted),
    /// A query of the world returned. The value is stored, because the world changes.
    Observed {
        /// Step of the query.
        step: StepId,
        /// Observed value; `None` if it equals that of `same_as`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// Earlier query that observed the same value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same_as: Option<StepId>,
        /// Time.
        at_ms: u64,
    },
    /// A step was dispatched.
    StepBegun {
        /// The step.
        step: StepId,
        /// Attempt, from 1.
        attempt: u32,
        /// The request; redispatched byte for byte when the run is recovered.
        what: StepRequest,
        /// Budget reserved for it.
        grant: Budget,
        /// Deadline of the attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        /// Time.
        at_ms: u64,
    },
    /// A step returned.
    StepEnded {
        /// The step.
        step: StepId,
        /// Attempt, from 1.
        attempt: u32,
        /// Its result.
        result: StepResult,
        /// Resources used; `None` if not reported, which charges the whole grant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
        /// Time.
        at_ms: u64,
    },
    /// The strategy journaled a note.
    Noted {
        /// Step of the note.
        step: StepId,
        /// Value of the note.
        value: Value,
        /// Time.
        at_ms: u64,
    },
    /// A step in flight reported progress. Decisions ignore it.
    Progressed {
        /// The step.
        step: StepId,
        /// Attempt, from 1.
        attempt: u32,
        /// Value of the progress.
        value: Value,
        /// Time.
        at_ms: u64,
    },
    /// No further step begins; the run ends with this outcome as soon as all steps in flight have returned.
    Stopping {
        /// The outcome.
        outcome: RunOutcome,
        /// Time.
        at_ms: u64,
    },
    /// The run ended, and the requester was told.
    Ended {
        /// The outcome.
        outcome: RunOutcome,
        /// Total resources used.
        spent: Spent,
        /// Time.
        at_ms: u64,
    },
}

impl RunEvent {
    /// Time of the event.
    pub fn at_ms(&self) -> u64 {
        match self {
            Self::Started(RunStarted { at_ms, .. })
            | Self::Observed { at_ms, .. }
            | Self::StepBegun { at_ms, .. }
            | Self::StepEnded { at_ms, .. }
            | Self::Noted { at_ms, .. }
            | Self::Progressed { at_ms, .. }
            | Self::Stopping { at_ms, .. }
            | Self::Ended { at_ms, .. } => *at_ms,
        }
    }
}

/// First event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Name of the strategy.
    pub strategy: String,
    /// Input of the strategy.
    pub input: Value,
    /// Conversation of the run; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// The driver's data for recovery: whose task it is, and where the result goes.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    /// Budget of the run.
    #[serde(default)]
    pub budget: Budget,
    /// Deadline of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Time.
    pub at_ms: u64,
}

impl RunStarted {
    /// The principal who asked first for what the run is a part of, as its origin says; empty if none is known.
    pub fn on_behalf_of(&self) -> &str {
        self.origin["on_behalf_of"].as_str().unwrap_or_default()
    }

    /// True if another task led to it, as its origin says.
    pub fn is_part(&self) -> bool {
        self.origin["is_part"] == true
    }
}

/// A dispatched request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepRequest {
    /// A question to the model. It can be rebuilt from the journal; the digests tell readers whether two questions were
    /// equal.
    ModelAsked {
        /// Digest of the conversation.
        #[serde(default)]
        prompt: String,
        /// Digest of the tools.
        #[serde(default)]
        tools: String,
        /// Maximum length of the answer, in tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_output_tokens: Option<u32>,
    },
    /// A call of a tool.
    ToolCalled(ToolCall),
    /// Work for an agent.
    Delegated(SentHandoff),
    /// A message to the requester.
    Said {
        /// Text of the message.
        text: String,
    },
    /// A wait.
    Waiting {
        /// End of the wait.
        until_ms: u64,
    },
    /// A request for a person's approval.
    ApprovalAsked(Approval),
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepResult {
    /// The model's answer.
    ModelAnswered(Completion),
    /// The tool's output.
    ToolReturned(ToolOutput),
    /// The agent's result.
    DelegationEnded(DelegationResult),
    /// The message was sent.
    Said,
    /// The wait is over.
    Woke,
    /// The person's decision.
    Decided(Decision),
    /// The step failed.
    Failed(EffectFailure),
    /// The step was recalled.
    Cancelled,
}

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunOutcome {
    /// Success.
    Completed {
        /// Result as text.
        text: String,
        /// Result as data.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
        /// Shortfall of a result whose data are its own. Of a result without such data, `data` is the shortfall.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lacks: Option<Box<Shortfall>>,
    },
    /// Failure.
    Failed {
        /// Error, for the requester.
        error: String,
    },
    /// Cancelled on request.
    Cancelled {
        /// Reason.
        reason: String,
    },
}

impl RunOutcome {
    /// A result that is text only.
    pub fn completed(text: impl Into<String>) -> Self {
        Self::with_data(text, Value::Null)
    }

    /// A result with data, which are whole or say what they lack.
    pub fn with_data(text: impl Into<String>, data: Value) -> Self {
        Self::Completed {
            text: text.into(),
            data,
            lacks: None,
        }
    }

    /// Shortfall of a result; `None` of a whole one, and where there is none.
    pub fn shortfall(&self) -> Option<Shortfall> {
        match self {
            Self::Completed { data, lacks, .. } => {
                lacks.as_deref().cloned().or_else(|| Shortfall::of([data]))
            }
            Self::Failed { .. } | Self::Cancelled { .. } => None,
        }
    }

    /// A failure.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
        }
    }

    /// The outcome's kind in one word.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}
