//! What there is to see of mailboxes from outside.

use super::{Lifetime, Mailboxes};
use crate::{
    id::{AgentId, MailboxId},
    log::Position,
    mailbox::Mail,
};

/// A durable mailbox, or with an empty name the mail that waits for an agent's first subscription.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) ordered: bool,
    /// What waits, in the order of the log.
    pub(crate) waiting: Vec<Mail>,
    /// How many are out with an instance.
    pub(crate) leased: usize,
    /// Of all that it holds.
    pub(crate) bytes: usize,
}

impl Mailboxes {
    /// Agent and name of every durable mailbox and of all mail that waits for a subscription, in order.
    pub(crate) fn names(&self) -> Vec<(AgentId, String)> {
        let durable = self
            .slots
            .values()
            .filter(|s| s.lifetime == Lifetime::Durable)
            .map(|s| (s.agent.clone(), s.name.clone()));
        let unclaimed = self.unclaimed.agents().map(|a| (a.clone(), String::new()));
        let mut names: Vec<(AgentId, String)> = durable.chain(unclaimed).collect();
        names.sort();
        names
    }

    /// One mailbox.
    pub(crate) fn see(&self, agent: &AgentId, name: &str) -> Option<Seen> {
        if name.is_empty() {
            let waiting: Vec<Mail> = self.unclaimed.of(agent).cloned().collect();
            let bytes = waiting.iter().map(Mail::bytes).sum();
            return (!waiting.is_empty()).then_some(Seen {
                ordered: false,
                waiting,
                leased: 0,
                bytes,
            });
        }
        let slot = self
            .slots
            .get(&self.find(agent, name, &Lifetime::Durable)?)?;
        Some(Seen {
            ordered: slot.ordered,
            waiting: slot.mailbox.waiting(),
            leased: slot.mailbox.leased(),
            bytes: slot.mailbox.bytes(),
        })
    }

    /// Whether an agent has a durable mailbox.
    pub(crate) fn is_known(&self, agent: &AgentId) -> bool {
        let ids = self.of_agent(agent);
        ids.into_iter().any(|id| self.durable(id).is_some())
    }

    /// How many events a mailbox holds, and their bytes.
    pub(crate) fn held(&self, id: MailboxId) -> (usize, usize) {
        let slot = self.slots.get(&id);
        slot.map_or((0, 0), |s| (s.mailbox.events(), s.mailbox.bytes()))
    }

    /// Whether an event is in a mailbox, waiting or out.
    pub(crate) fn holds(&self, id: MailboxId, position: Position) -> bool {
        self.slots
            .get(&id)
            .is_some_and(|s| s.mailbox.holds(position))
    }
}
