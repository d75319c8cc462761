//! Caller on whose behalf the hub acts.

/// Identity and namespace of a caller. Without identities, all callers are the same principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Authenticated identity.
    pub principal: String,
    /// Namespace of the agents, tasks and mailboxes that the caller can see.
    pub namespace: String,
}

/// The namespace of a hub without identities.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Principal of all callers while there are no identities.
pub(crate) const ANONYMOUS: &str = "anonymous";

impl Caller {
    /// The caller while there are no identities.
    pub fn anonymous() -> Self {
        Self {
            principal: ANONYMOUS.to_owned(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
        }
    }
}
