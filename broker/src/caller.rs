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

impl Caller {
    /// Everyone, as long as there are no identities.
    pub fn anonymous() -> Self {
        Self {
            principal: "anonymous".to_owned(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
        }
    }
}
