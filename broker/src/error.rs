//! Why the hub refuses something, by what the caller can do about it.

/// The message says what was wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request can never be accepted as it is.
    #[error("{0}")]
    InvalidArgument(String),
    /// Older clients learn of this in the response, not as a status.
    #[error("{0}")]
    Incomplete(String),
    /// There is no such task or agent.
    #[error("{0}")]
    NotFound(String),
    /// The state does not allow it: a task that has ended, say.
    #[error("{0}")]
    FailedPrecondition(String),
    /// The id is known with another content.
    #[error("{0}")]
    AlreadyExists(String),
    /// Somebody else's.
    #[error("{0}")]
    PermissionDenied(String),
    /// A bound was reached; later may be better.
    #[error("{0}")]
    ResourceExhausted(String),
    /// A position that the log does not hold.
    #[error("{0}")]
    OutOfRange(String),
    /// Something else has taken its place.
    #[error("{0}")]
    Aborted(String),
    /// The hub is going away; connect again.
    #[error("{0}")]
    Unavailable(String),
}

impl Error {
    /// The log has not written yet what it has taken.
    pub(crate) fn behind() -> Self {
        Self::ResourceExhausted("the hub's log is behind: publish again later".to_owned())
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::ResourceExhausted(_) | Self::Unavailable(_))
    }
}
