//! Bytes of mail by the principals that own the agents it is for.

use std::sync::Arc;

use crate::{id::AgentId, table::Table};

/// The bytes, see the module. Mail for agents without an owner is not in it.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    owners: Table<AgentId, Arc<str>>,
    bytes: Table<Arc<str>, usize>,
}

impl Holdings {
    /// Owner of an agent, if it has one.
    pub(crate) fn owner(&self, agent: &AgentId) -> Option<&Arc<str>> {
        self.owners.get(agent)
    }

    /// Bytes of a principal's agents.
    pub(crate) fn of(&self, owner: &str) -> usize {
        self.bytes.get(owner).copied().unwrap_or(0)
    }

    /// Sets the owner of an agent, which has so many bytes at present.
    pub(crate) fn set_owner(&mut self, agent: &AgentId, owner: Option<&str>, bytes: usize) {
        self.remove(agent, bytes);
        match owner {
            Some(owner) => {
                let known = self.bytes.get_key_value(owner);
                let owner = known.map_or_else(|| owner.into(), |(known, _)| Arc::clone(known));
                self.owners.insert(agent.clone(), owner);
            }
            None => drop(self.owners.remove(agent)),
        }
        self.add(agent, bytes);
    }

    /// Counts bytes that have come for an agent.
    pub(crate) fn add(&mut self, agent: &AgentId, bytes: usize) {
        if bytes == 0 || self.owners.is_empty() {
            return;
        }
        if let Some(owner) = self.owners.get(agent) {
            match self.bytes.get_mut(owner) {
                Some(known) => *known += bytes,
                None => drop(self.bytes.insert(Arc::clone(owner), bytes)),
            }
        }
    }

    /// Counts bytes of an agent that have gone.
    pub(crate) fn remove(&mut self, agent: &AgentId, bytes: usize) {
        if bytes == 0 || self.owners.is_empty() {
            return;
        }
        if let Some(owner) = self.owners.get(agent)
            && let Some(known) = self.bytes.get_mut(owner)
        {
            *known -= bytes;
            if *known == 0 {
                self.bytes.remove(&**owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_the_owner_of_their_agent() {
        let [a, b] = ["a", "b"].map(AgentId::from);
        let mut holdings = Holdings::default();
        holdings.add(&a, 5);
        assert_eq!(holdings.of("alice"), 0, "nobody's");
        holdings.set_owner(&a, Some("alice"), 5);
        holdings.set_owner(&b, Some("alice"), 0);
        holdings.add(&b, 7);
        assert_eq!(holdings.of("alice"), 12);
        holdings.set_owner(&a, Some("bob"), 5);
        holdings.remove(&b, 3);
        assert_eq!((holdings.of("alice"), holdings.of("bob")), (4, 5));
        holdings.set_owner(&a, None, 5);
        holdings.remove(&b, 4);
        assert_eq!((holdings.of("alice"), holdings.of("bob")), (0, 0));
        assert!(holdings.bytes.is_empty());
    }
}
