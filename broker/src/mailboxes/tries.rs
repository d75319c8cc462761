//! Delivery attempts in the log, by mailbox.

use tokio::time::Instant;

use super::{Lifetime, Mailboxes};
use crate::{
    id::{AgentId, MailboxId},
    log::Try,
};

impl Mailboxes {
    /// Unrecorded attempts of durable mailboxes, by agent and name, of about `most` events.
    pub(crate) fn take_unlogged_attempts(
        &mut self,
        most: usize,
    ) -> Vec<(AgentId, String, Vec<Try>)> {
        let mut found = Vec::new();
        let mut left = most;
        while left > 0
            && let Some(id) = self.unlogged_attempts.pop_first()
        {
            let Some(slot) = self.slots.get_mut(&id) else {
                continue;
            };
            let tries = slot.mailbox.take_unlogged_attempts(left);
            if slot.mailbox.has_unlogged_attempts() {
                self.unlogged_attempts.insert(id);
            }
            left = left.saturating_sub(tries.len());
            if !tries.is_empty() {
                found.push((slot.agent.clone(), slot.name.clone(), tries));
            }
        }
        found
    }

    /// True if there are [unlogged attempts](Self::take_unlogged_attempts).
    pub(crate) fn has_unlogged_attempts(&self) -> bool {
        !self.unlogged_attempts.is_empty()
    }

    /// Restores recorded delivery attempts of a durable mailbox.
    pub(crate) fn set_tried(&mut self, agent: &AgentId, name: &str, tries: &[Try]) {
        if let Some(id) = self.find(agent, name, &Lifetime::Durable) {
            self.with(id, |mailbox| {
                tries.iter().for_each(|t| mailbox.set_tried(t));
            });
        }
    }

    /// Restores the leases at the end of the log: their instances may reconnect until then.
    pub(crate) fn resume(&mut self, until: Instant) {
        let ids: Vec<MailboxId> = self.slots.keys().copied().collect();
        for id in ids {
            self.with(id, |mailbox| mailbox.resume(until));
        }
    }
}
