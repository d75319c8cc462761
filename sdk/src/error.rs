//! Errors between a program and the hub.

use std::time::Duration;

use agenthub_proto::agenthub::PublishResult;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// Longest time that is waited for a quota.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Failure of a call of this crate. The variants differ by what the caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The hub's address is none.
    #[error("{url:?} is no address of a hub: {reason} (an example is http://127.0.0.1:50051)")]
    InvalidUrl {
        /// The address as given, without a login.
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
    /// TLS with the hub fails: one does not trust the other's certificate, or one side does not speak TLS.
    #[error("no secure connection to {url}: {reason}")]
    Insecure {
        /// The address.
        url: String,
        /// The reason, and what to do about it.
        reason: String,
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
    /// A quota is used up, of the caller or of whom it sends to.
    #[error("the hub has no room for this at present: {reason}")]
    OverQuota {
        /// The quota, and when to come back.
        reason: String,
        /// Time after which the same call may succeed, if that is known.
        retry_after: Option<Duration>,
    },
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
                | Self::OverQuota { .. }
                | Self::Unavailable(_)
                | Self::Timeout(_)
        )
    }

    /// Time after which the hub says that the same call may succeed.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::OverQuota { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// True if a quota refuses it for longer than a caller waits: for another day, or until somebody makes room.
    pub(crate) fn is_used_up(&self) -> bool {
        match self {
            Self::OverQuota { retry_after, .. } => {
                retry_after.is_none_or(|after| after > LONGEST_PAUSE)
            }
            _ => false,
        }
    }

    /// Pause before the same call is tried again: the time that the hub says, or else this one.
    pub(crate) fn pause(&self, otherwise: Duration) -> Duration {
        self.retry_after().unwrap_or(otherwise)
    }

    /// True if no hub was reached at the address: there is none, or it does not answer.
    pub fn is_out_of_reach(&self) -> bool {
        matches!(self, Self::NoHub { .. } | Self::Silent { .. })
    }

    /// The error that a gRPC status stands for.
    pub(crate) fn from_status(status: &Status) -> Self {
        match status.get_details_quota_failure() {
            Some(_) if status.code() == Code::ResourceExhausted => Self::OverQuota {
                reason: status.message().to_owned(),
                retry_after: status
                    .get_details_retry_info()
                    .and_then(|info| info.retry_delay),
            },
            _ => Self::from_code(status.code(), status.message()),
        }
    }

    /// The error that the result of a publish stands for, which is none.
    pub(crate) fn from_result(result: PublishResult) -> Self {
        match result.over_quota {
            true => Self::OverQuota {
                reason: result.error,
                retry_after: result.retry_after.and_then(|after| after.try_into().ok()),
            },
            false => Self::from_code(Code::from_i32(result.code), &result.error),
        }
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
    use tonic_types::ErrorDetails;

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

    /// Issue 25: RESOURCE_EXHAUSTED with when to come back.
    #[test]
    fn a_status_says_when_to_come_back() {
        let mut details = ErrorDetails::new();
        details.set_retry_info(Some(Duration::from_millis(1_500)));
        details.add_quota_failure_violation("\"alice\"", "no room");
        let status = Status::with_error_details(Code::ResourceExhausted, "no room", details);
        let error = Error::from_status(&status);
        assert_eq!(error.retry_after(), Some(Duration::from_millis(1_500)));
        assert!(error.is_retryable());
        assert_eq!(error.pause(Duration::ZERO), Duration::from_millis(1_500));
        assert!(!error.is_used_up(), "it is waited for");
        let result = |seconds: Option<i64>| PublishResult {
            code: Code::ResourceExhausted.into(),
            over_quota: true,
            retry_after: seconds.map(|seconds| agenthub_proto::wkt::Duration { seconds, nanos: 0 }),
            ..PublishResult::default()
        };
        let of = |seconds| Error::from_result(result(seconds));
        assert_eq!(of(Some(2)).retry_after(), Some(Duration::from_secs(2)));
        assert!(!of(Some(60)).is_used_up());
        assert!(of(Some(61)).is_used_up() && of(None).is_used_up());
        let silent = Error::from_status(&Status::resource_exhausted("no room"));
        assert_eq!(silent.pause(Duration::from_secs(7)), Duration::from_secs(7));
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
