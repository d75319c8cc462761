//! What the log has of deliveries, by mailbox.

use tokio::time::Instant;

use super::{Lifetime, Mailboxes};
use crate::{
    id::{AgentId, MailboxId},
    log::Try,
};

impl Mailboxes {
    /// What has happened to deliveries of durable mailboxes that the log does not have, by agent and name, of about so many events at most.
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

    /// Whether there are [unlogged attempts](Self::take_unlogged_attempts).
    pub(crate) fn has_unlogged_attempts(&self) -> bool {
        !self.unlogged_attempts.is_empty()
    }

    /// Takes in what the log has of deliveries of a durable mailbox.
    pub(crate) fn set_tried(&mut self, agent: &AgentId, name: &str, tries: &[Try]) {
        if let Some(id) = self.find(agent, name, &Lifetime::Durable) {
            self.with(id, |mailbox| {
                tries.iter().for_each(|t| mailbox.set_tried(t));
            });
        }
    }

    /// What was out when the log ended is still with its instances: they may come back for it until then.
    pub(crate) fn resume(&mut self, until: Instant) {
        let ids: Vec<MailboxId> = self.slots.keys().copied().collect();
        for id in ids {
            self.with(id, |mailbox| mailbox.resume(until));
        }
    }
}
