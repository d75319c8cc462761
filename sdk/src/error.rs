//! Errors between a program and the hub.

use std::time::Duration;

use tonic::{Code, Status};

/// Failure of a call of this crate. The variants differ by what the caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The hub's address is none.
    #[error("{url:?} is no address of a hub: {reason} (an example is http://127.0.0.1:50051)")]
    InvalidUrl {
        /// The address as given.
        url: String,
        /// Its fault.
        reason: String,
    },
    /// No hub answers at the address.
    #[error("no hub at {url} ({reason}): start one with `agenthub up`, or name another")]
    NoHub {
        /// The address.
        url: String,
        /// The network's error.
        reason: String,
    },
    /// Nothing at the address answers in time. A hub under load may later.
    #[error(
        "nothing at {url} has answered within {within:?}: the hub there is busy, or it is no hub; try again, or name another"
    )]
    Silent {
        /// The address.
        url: String,
        /// The time that was waited.
        within: Duration,
    },
    /// Something answers there, but it does not speak the hub's protocol.
    #[error("what answers at {url} is no AgentHub: {reason}")]
    NotAHub {
        /// The address.
        url: String,
        /// The answer.
        reason: String,
    },
    /// The hub does not accept this peer as it is: its id, its card or its protocol version.
    #[error("the hub refused the connection: {0}")]
    Refused(String),
    /// No such task or agent.
    #[error("not found: {0}")]
    NotFound(String),
    /// The request does not fit what there is: an ended task, an id that is taken.
    #[error("conflict: {0}")]
    Conflict(String),
    /// Something else has taken its place: another instance has the task, another stream the subscription.
    #[error("{0}")]
    Superseded(String),
    /// The request is malformed, too large, or against a rule.
    #[error("invalid: {0}")]
    Invalid(String),
    /// The caller may not do this.
    #[error("denied: {0}")]
    Denied(String),
    /// A bound of the hub is reached: its log is behind, its disk or a mailbox is full. Later there may be room.
    #[error("the hub has no room for this at present: {0}")]
    Busy(String),
    /// The hub cannot do it at present.
    #[error("the hub cannot do this at present: {0}")]
    Unavailable(String),
    /// No answer in time. What was asked may still happen.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The task's deadline has passed without an outcome.
    #[error("task {task_id} did not end before its deadline")]
    DeadlineExceeded {
        /// The task.
        task_id: String,
    },
    /// The hub restarted without its memory.
    #[error("task {task_id} is lost: the hub restarted and no longer knows it")]
    Lost {
        /// The task.
        task_id: String,
    },
    /// Events that a subscription has not seen, as the hub no longer has them. The subscription goes on behind them.
    #[error("events were missed: {0}")]
    Missed(String),
    /// The task that this was done for was cancelled, has ended, or is handled elsewhere.
    #[error("cancelled: {0}")]
    Cancelled(String),
    /// A delegation that came from a delegation, and so on, too often.
    #[error(
        "task {task_id} is the end of a chain of {max} delegations, which may not grow: agents probably ask each other in a circle"
    )]
    TooManyHops {
        /// The task that wanted to delegate further.
        task_id: String,
        /// The longest chain there may be.
        max: u32,
    },
    /// The client was closed, or the hub ended the connection for good.
    #[error("the connection to the hub is closed: {0}")]
    Closed(String),
}

impl Error {
    /// True if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::NoHub { .. }
                | Self::Silent { .. }
                | Self::Busy(_)
                | Self::Unavailable(_)
                | Self::Timeout(_)
        )
    }

    /// True if no hub was reached at the address: there is none, or it does not answer.
    pub fn is_out_of_reach(&self) -> bool {
        matches!(self, Self::NoHub { .. } | Self::Silent { .. })
    }

    /// The error that a gRPC status stands for.
    pub(crate) fn from_status(status: &Status) -> Self {
        Self::from_code(status.code(), status.message())
    }

    /// The error that a gRPC status code stands for.
    pub(crate) fn from_code(code: Code, message: &str) -> Self {
        let text = if message.is_empty() {
            code.description().to_owned()
        } else {
            message.to_owned()
        };
        match code {
            Code::NotFound => Self::NotFound(text),
            Code::AlreadyExists | Code::FailedPrecondition => Self::Conflict(text),
            Code::Aborted => Self::Superseded(text),
            Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented => Self::Invalid(text),
            Code::ResourceExhausted => Self::Busy(text),
            Code::PermissionDenied | Code::Unauthenticated => Self::Denied(text),
            _ => Self::Unavailable(text),
        }
    }
}

/// An error and its sources in one line, without repeating what an error already says of its source.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_what_the_caller_can_do() {
        let of = |code| Error::from_code(code, "why");
        assert_eq!(of(Code::NotFound), Error::NotFound("why".into()));
        assert_eq!(of(Code::AlreadyExists), Error::Conflict("why".into()));
        assert_eq!(of(Code::Aborted), Error::Superseded("why".into()));
        assert_eq!(of(Code::ResourceExhausted), Error::Busy("why".into()));
        assert!(of(Code::ResourceExhausted).is_retryable());
        assert!(of(Code::Unavailable).is_retryable());
        assert!(!of(Code::InvalidArgument).is_retryable());
        assert!(!Error::from_code(Code::Unknown, "").to_string().is_empty());
    }

    #[test]
    fn a_chain_names_each_source_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("reading the file")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("disk on fire"));
        assert_eq!(chain(&error), "reading the file: disk on fire");
    }
}
