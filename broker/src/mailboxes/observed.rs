//! Events that an observer receives besides those for its own id.

use crate::id::{Address, AgentId};

/// The events, see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// Those of everybody.
    All,
    /// Those from or to this agent.
    Agent(AgentId),
}

impl Observed {
    /// True for a change of the directory that is about this agent.
    pub(crate) fn is_about(&self, agent: &str) -> bool {
        match self {
            Self::All => true,
            Self::Agent(observed) => **observed == *agent,
        }
    }

    /// True for an event of this sender that goes to these recipients.
    pub(crate) fn includes(&self, sender: &str, to: &[Address]) -> bool {
        match self {
            Self::All => true,
            Self::Agent(agent) => {
                *sender == **agent || to.iter().any(|address| address.agent == *agent)
            }
        }
    }
}
