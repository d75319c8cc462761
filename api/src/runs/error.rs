//! Errors of operations on runs.

use std::time::Duration;

use agenthub_cortex::{StartError, brief::Faults};
use agenthub_sdk::runs::journal;

/// The reason why something is not done for a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// No such run.
    #[error("there is no {what} {id:?}")]
    NotFound {
        /// `run`, or `plan of run`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The caller may not do it.
    #[error("{0}")]
    Denied(String),
    /// The input does not keep to its bounds.
    #[error("`{at}` {why}")]
    Invalid {
        /// The field, such as `constraints.qualityThreshold`.
        at: String,
        /// Its fault, as the rest of a sentence.
        why: String,
    },
    /// A field is not taken by the agent that would have the run, for its reason.
    #[error("`{at}` is refused: {why}")]
    FieldRefused {
        /// The field.
        at: String,
        /// The reason.
        why: String,
    },
    /// The brief has faults.
    #[error("{0}")]
    Faulty(Faults),
    /// Another run of the thread is active.
    #[error("run {run} of thread {thread:?} is active: wait for it or cancel it")]
    ThreadBusy {
        /// The thread.
        thread: String,
        /// The run.
        run: String,
    },
    /// The idempotency key is that of another request.
    #[error(
        "the idempotency key {key:?} was used for run {run}, which was asked for something else: every other request needs a key of its own"
    )]
    KeyReused {
        /// The key.
        key: String,
        /// The run that it started.
        run: String,
    },
    /// The approval waits for nobody, or never did.
    #[error("run {run} does not wait for the approval {approval:?}{}", told(decided.as_ref()))]
    NotPending {
        /// The run.
        run: String,
        /// The approval.
        approval: String,
        /// The decision, if there is one.
        decided: Option<Decided>,
    },
    /// The run is not over.
    #[error("run {run} is {state}: wait for it or cancel it")]
    Active {
        /// The run.
        run: String,
        /// Its state.
        state: String,
    },
    /// The run is over.
    #[error("run {run} is {state} already")]
    NotActive {
        /// The run.
        run: String,
        /// Its state.
        state: String,
    },
    /// The run has a form for which this is not done.
    #[error("{0}")]
    Unsuitable(String),
    /// Cortex did not take the run.
    #[error("the run did not begin: {0}")]
    Refused(String),
    /// A quota of the principal is used up.
    #[error("{reason}")]
    OverQuota {
        /// The quota, and when to come back.
        reason: String,
        /// Time after which there is room, if that is known.
        retry_after: Option<Duration>,
    },
    /// Not possible at the moment.
    #[error("not at the moment: {0}")]
    Unavailable(String),
}

/// A decision of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    /// `allowed` or `refused`.
    pub(crate) answer: &'static str,
    /// The person.
    pub(crate) by: String,
    /// Time, RFC 3339.
    pub(crate) at: String,
}

/// A decision as the rest of a sentence.
fn told(decided: Option<&Decided>) -> String {
    match decided {
        None => String::new(),
        Some(Decided { answer, by, at }) => format!(": it was already {answer} by {by} at {at}"),
    }
}

impl Error {
    /// Error for a run that does not exist.
    pub(super) fn no_run(id: &str) -> Self {
        Self::NotFound {
            what: "run",
            id: id.to_owned(),
        }
    }
}

impl From<Faults> for Error {
    fn from(faults: Faults) -> Self {
        Self::Faulty(faults)
    }
}

impl From<journal::JournalError> for Error {
    fn from(error: journal::JournalError) -> Self {
        match error {
            journal::JournalError::NotFound(run) => Self::no_run(run.as_str()),
            journal::JournalError::Cursor(cursor) => Self::Invalid {
                at: "pageToken".to_owned(),
                why: format!("has {cursor:?}, which no list has given"),
            },
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Invalid(faults) => faults.into(),
            StartError::ThreadBusy { thread, run } => Self::ThreadBusy {
                thread,
                run: run.to_string(),
            },
            StartError::KeyReused { key, run } => Self::KeyReused {
                key,
                run: run.to_string(),
            },
            StartError::Refused(failure) => Self::Refused(failure.to_string()),
            StartError::OverQuota {
                reason,
                retry_after,
            } => Self::OverQuota {
                reason,
                retry_after,
            },
            StartError::Conflict(why) => Self::Refused(why),
            StartError::Unavailable(why) => Self::Unavailable(why),
        }
    }
}
