//! Reasons of refusals, by which programs tell one from another: those of the `google.rpc.ErrorInfo` in a status.

/// Domain of the reasons.
pub const DOMAIN: &str = "agenthub";

/// Field of an `ErrorInfo` of [`Reason::NotPending`] where a person has decided: `allowed` or `refused`.
pub const DECISION: &str = "decision";
/// Field beside it: the person.
pub const DECIDED_BY: &str = "decided_by";
/// Field beside it: the time, RFC 3339.
pub const DECIDED_AT: &str = "decided_at";

/// A reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Another run of the thread is active.
    ThreadBusy,
    /// The idempotency key is that of another request.
    KeyReused,
    /// The run does not wait for the approval.
    NotPending,
}

impl Reason {
    const ALL: [Self; 3] = [Self::ThreadBusy, Self::KeyReused, Self::NotPending];

    /// The reason on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ThreadBusy => "THREAD_BUSY",
            Self::KeyReused => "KEY_REUSED",
            Self::NotPending => "NOT_PENDING",
        }
    }

    /// The reason in the `ErrorInfo` of this domain; `None` of another domain, and of a reason that is not known.
    pub fn of(domain: &str, reason: &str) -> Option<Self> {
        let is_it = |known: &Self| domain == DOMAIN && known.as_str() == reason;
        Self::ALL.into_iter().find(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_known_in_its_domain_alone() {
        for reason in Reason::ALL {
            assert_eq!(Reason::of(DOMAIN, reason.as_str()), Some(reason));
            assert_eq!(Reason::of("elsewhere", reason.as_str()), None);
        }
        assert_eq!(Reason::of(DOMAIN, "ANOTHER"), None);
    }
}
