//! What there is to see of mailboxes from outside.

use std::{
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
    time::SystemTime,
};

use super::{Lifetime, Mailboxes, Slot};
use crate::{
    id::{AgentId, MailboxId},
    log::Position,
    mailbox::Mail,
    sealed::Sealed,
};

/// A durable mailbox, or with an empty name the mail that waits for an agent's first subscription.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) ordered: bool,
    /// How many events wait.
    pub(crate) waiting: usize,
    /// How many are out with an instance.
    pub(crate) leased: usize,
    /// Of all that it holds.
    pub(crate) bytes: usize,
    /// The first that waits, in the order of the log.
    pub(crate) oldest: Option<Arc<Sealed>>,
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
            let waiting = || self.unclaimed.of(agent);
            let oldest = waiting().min_by_key(|m| m.position)?;
            return Some(Seen {
                ordered: false,
                waiting: waiting().count(),
                leased: 0,
                bytes: waiting().map(Mail::bytes).sum(),
                oldest: Some(oldest.event.look()),
            });
        }
        let slot = self.named_slot(agent, name)?;
        Some(Seen {
            ordered: slot.ordered,
            waiting: slot.mailbox.waits(),
            leased: slot.mailbox.leased(),
            bytes: slot.mailbox.bytes(),
            oldest: slot.mailbox.waiting().next().map(|mail| mail.event),
        })
    }

    /// What waits in a mailbox, at most so many events, in the order of the log.
    pub(crate) fn waiting(&self, agent: &AgentId, name: &str, most: usize) -> Vec<Mail> {
        if name.is_empty() {
            let mut waiting: Vec<&Mail> = self.unclaimed.of(agent).collect();
            waiting.sort_by_key(|m| m.position);
            return waiting.into_iter().take(most).cloned().collect();
        }
        let slot = self.named_slot(agent, name);
        let waiting = slot.map(|slot| slot.mailbox.waiting().take(most));
        waiting.into_iter().flatten().collect()
    }

    /// When a mailbox was last used, if that is known.
    pub(crate) fn used(&self, id: MailboxId) -> Option<SystemTime> {
        self.slots.get(&id)?.used
    }

    /// The durable mailboxes that were opened after another one, at most so many, in that order, with when each was last used.
    pub(crate) fn uses(
        &self,
        after: MailboxId,
        limit: usize,
    ) -> Vec<(MailboxId, AgentId, Option<SystemTime>)> {
        let ids = self.durable.range((Excluded(after), Unbounded));
        let slots = ids.filter_map(|id| Some((*id, self.slots.get(id)?)));
        slots
            .take(limit)
            .map(|(id, s)| (id, s.agent.clone(), s.used))
            .collect()
    }

    fn named_slot(&self, agent: &AgentId, name: &str) -> Option<&Slot> {
        let id = self.find(agent, name, &Lifetime::Durable)?;
        self.slots.get(&id).map(|slot| &**slot)
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
