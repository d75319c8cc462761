//! What happens in a run, as its journal has it.
//!
//! Times are milliseconds since 1970. The forms here are read back by later releases: fields are added, never renamed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    approval::{Approval, Decision},
    budget::{Budget, Spent},
    effect::{Delegated, Failure, Sent, ToolOutput},
    id::StepId,
    model::{Completion, ToolCall},
};

/// One thing that happened. It is durable before anything follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "few at a time, and short-lived")]
pub enum RunEvent {
    /// The run exists.
    Started(Started),
    /// The strategy looked at the world. What it saw is kept, because the world changes.
    Observed {
        /// The look.
        step: StepId,
        /// What was seen; none where it was what `same_as` saw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// An earlier look that saw the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same_as: Option<StepId>,
        /// When.
        at_ms: u64,
    },
    /// A step goes out.
    StepBegun {
        /// The step.
        step: StepId,
        /// From 1.
        attempt: u32,
        /// What goes out; sent again byte for byte when the run is taken up again.
        what: Begun,
        /// What is reserved for it.
        grant: Budget,
        /// When it is given up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        /// When.
        at_ms: u64,
    },
    /// A step came back.
    StepEnded {
        /// The step.
        step: StepId,
        /// From 1.
        attempt: u32,
        /// With what.
        result: StepResult,
        /// What it used; none where it does not tell, and is charged its grant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
        /// When.
        at_ms: u64,
    },
    /// The strategy wrote something down.
    Noted {
        /// The note.
        step: StepId,
        /// What it says.
        value: Value,
        /// When.
        at_ms: u64,
    },
    /// A step that is out showed something. Nothing is decided by it.
    Progressed {
        /// The step.
        step: StepId,
        /// From 1.
        attempt: u32,
        /// What it showed.
        value: Value,
        /// When.
        at_ms: u64,
    },
    /// Nothing further begins; the run ends so as soon as what is out has come back.
    Stopping {
        /// How it will end.
        outcome: RunOutcome,
        /// When.
        at_ms: u64,
    },
    /// The run is over, and who waits for it has been told.
    Ended {
        /// How.
        outcome: RunOutcome,
        /// What all of it used.
        spent: Spent,
        /// When.
        at_ms: u64,
    },
}

impl RunEvent {
    /// When it happened.
    pub fn at_ms(&self) -> u64 {
        match self {
            Self::Started(Started { at_ms, .. })
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

/// How a run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// Which strategy drives it.
    pub strategy: String,
    /// What the strategy begins with.
    pub input: Value,
    /// The conversation that it belongs to; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// What who drives it needs to take it up again: whose task it is, and the way back.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    /// What it may use.
    #[serde(default)]
    pub budget: Budget,
    /// When it must be over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// When.
    pub at_ms: u64,
}

/// What went out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Begun {
    /// A question to the model. The question follows from the journal; the digests tell those who read it whether two were the same.
    ModelAsked {
        /// Of the conversation.
        #[serde(default)]
        prompt: String,
        /// Of the tools.
        #[serde(default)]
        tools: String,
        /// The longest answer, in tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_output_tokens: Option<u32>,
    },
    /// A call of a tool.
    ToolCalled(ToolCall),
    /// Work for an agent.
    Delegated(Sent),
    /// Words for who waits.
    Said {
        /// The words.
        text: String,
    },
    /// A wait.
    Waiting {
        /// Until when.
        until_ms: u64,
    },
    /// A question to a person.
    ApprovalAsked(Approval),
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepResult {
    /// The model's answer.
    ModelAnswered(Completion),
    /// The tool's.
    ToolReturned(ToolOutput),
    /// The agent's.
    DelegationEnded(Delegated),
    /// The words are out.
    Said,
    /// The time has come.
    Woke,
    /// The person's.
    Decided(Decision),
    /// Nothing: why.
    Failed(Failure),
    /// It was called back.
    Cancelled,
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunOutcome {
    /// With a result.
    Completed {
        /// In words.
        text: String,
        /// As data.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    /// Without one.
    Failed {
        /// Why, in words for who waits.
        error: String,
    },
    /// It was not wanted any more.
    Cancelled {
        /// Why.
        reason: String,
    },
}

impl RunOutcome {
    /// A result in words.
    pub fn completed(text: impl Into<String>) -> Self {
        Self::Completed {
            text: text.into(),
            data: Value::Null,
        }
    }

    /// A failure.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
        }
    }

    /// One word for it.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}
