//! What the log has of deliveries, by mailbox.

use tokio::time::Instant;

use super::{Lifetime, Mailboxes};
use crate::{
    id::{AgentId, MailboxId},
    log::Try,
};

impl Mailboxes {
    /// What has happened to deliveries of durable mailboxes since this was asked last, by agent and name.
    pub(crate) fn take_unlogged_attempts(&mut self) -> Vec<(AgentId, String, Vec<Try>)> {
        let mailboxes = std::mem::take(&mut self.unlogged_attempts).into_iter();
        let mut found = Vec::new();
        for id in mailboxes {
            let Some(slot) = self.slots.get_mut(&id) else {
                continue;
            };
            let tries = slot.mailbox.take_unlogged_attempts();
            if !tries.is_empty() {
                found.push((slot.agent.clone(), slot.name.clone(), tries));
            }
        }
        found
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
