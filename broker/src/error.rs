//! Errors of the hub, by what the caller can do about them.

use std::time::Duration;

use agenthub_access::QuotaExceeded;

/// The message says what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request can never be accepted as it is.
    #[error("{0}")]
    InvalidArgument(String),
    /// A required field is missing. Older clients get this in the response, not as a status.
    #[error("{0}")]
    Incomplete(String),
    /// The task or agent does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The state does not allow it, such as a task that has ended.
    #[error("{0}")]
    FailedPrecondition(String),
    /// The id exists with other content.
    #[error("{0}")]
    AlreadyExists(String),
    /// The object belongs to another caller.
    #[error("{0}")]
    PermissionDenied(String),
    /// A limit was reached; a later attempt may succeed.
    #[error("{0}")]
    ResourceExhausted(String),
    /// A quota was reached.
    #[error("{0}")]
    OverQuota(Box<QuotaExceeded>),
    /// The log does not hold the position.
    #[error("{0}")]
    OutOfRange(String),
    /// Superseded.
    #[error("{0}")]
    Aborted(String),
    /// The hub is shutting down; connect again.
    #[error("{0}")]
    Unavailable(String),
}

impl Error {
    /// The log has a backlog of unwritten records.
    pub(crate) fn behind() -> Self {
        Self::ResourceExhausted("the hub's log is behind: publish again later".to_owned())
    }

    /// True if the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::ResourceExhausted(_) | Self::OverQuota(_) | Self::Unavailable(_)
        )
    }

    /// Time after which the same request may succeed, if it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::OverQuota(exceeded) => exceeded.again,
            _ => None,
        }
    }
}

impl From<QuotaExceeded> for Error {
    fn from(exceeded: QuotaExceeded) -> Self {
        Self::OverQuota(Box::new(exceeded))
    }
}
