//! On whose behalf the hub acts.

/// Who calls, and in which namespace. Without identities everyone who reaches the hub is the same principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The authenticated identity.
    pub principal: String,
    /// The agents, tasks and mailboxes that the caller can see.
    pub namespace: String,
}

/// The namespace of a hub without identities.
pub const DEFAULT_NAMESPACE: &str = "default";

/// The principal of everyone, as long as there are no identities.
pub(crate) const ANONYMOUS: &str = "anonymous";

impl Caller {
    /// Everyone, as long as there are no identities.
    pub fn anonymous() -> Self {
        Self {
            principal: ANONYMOUS.to_owned(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
        }
    }
}
