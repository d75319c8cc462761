//! Read access to mailboxes.

use std::{
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
    time::SystemTime,
};

use agenthub_proto::agenthub::EventKind;

use super::{Lifetime, Mailboxes, Slot};
use crate::{
    id::{AgentId, MailboxId},
    log::Position,
    mailbox::Mail,
    sealed::Sealed,
    steps::step,
};

/// A durable mailbox or, with an empty name, the mail that waits for an agent's first subscription.
#[derive(Debug)]
pub(crate) struct MailboxSummary {
    pub(crate) ordered: bool,
    /// Number of waiting events.
    pub(crate) waiting: usize,
    /// Number of leased events.
    pub(crate) leased: usize,
    /// Bytes of all events.
    pub(crate) bytes: usize,
    /// The oldest waiting event.
    pub(crate) oldest: Option<Arc<Sealed>>,
}

impl Mailboxes {
    /// Agent and name of durable mailboxes, and of mail that waits for a subscription, with an empty name, in order,
    /// after a given one: at least `limit`, if there are as many.
    pub(crate) fn names_after(
        &self,
        agent: &str,
        name: &str,
        limit: usize,
    ) -> Vec<(AgentId, String)> {
        let mut agent = AgentId::from(agent);
        let mut names = self.names_of(&agent);
        names.retain(|(_, other)| **other > *name);
        while names.len() < limit
            && let Some(next) = self.agent_after(&agent)
        {
            names.extend(self.names_of(&next));
            agent = next;
        }
        names
    }

    /// The same of one agent.
    pub(crate) fn names_of(&self, agent: &AgentId) -> Vec<(AgentId, String)> {
        step();
        let slots = self.by_agent.get(agent).into_iter().flatten();
        let slots = slots.filter_map(|id| self.slots.get(id));
        let durable = slots.filter(|slot| slot.lifetime == Lifetime::Durable);
        let waiting = self.unclaimed.see(agent).map(|_| String::new());
        let names = durable.map(|slot| slot.name.clone()).chain(waiting);
        let mut names: Vec<_> = names.map(|name| (agent.clone(), name)).collect();
        names.sort();
        names
    }

    fn agent_after(&self, agent: &AgentId) -> Option<AgentId> {
        let mut rest = self
            .agents
            .range::<AgentId, _>((Excluded(agent), Unbounded));
        let next = rest
            .next()
            .into_iter()
            .chain(self.unclaimed.agent_after(agent));
        next.min().cloned()
    }

    /// A mailbox.
    pub(crate) fn see(&self, agent: &AgentId, name: &str) -> Option<MailboxSummary> {
        if name.is_empty() {
            let pile = self.unclaimed.see(agent)?;
            return Some(MailboxSummary {
                ordered: false,
                waiting: pile.events,
                leased: 0,
                bytes: pile.bytes,
                oldest: Some(pile.first.event.look()),
            });
        }
        let slot = self.named_slot(agent, name)?;
        Some(MailboxSummary {
            ordered: slot.ordered,
            waiting: slot.mailbox.waits(),
            leased: slot.mailbox.leased(),
            bytes: slot.mailbox.bytes(),
            oldest: slot.mailbox.oldest().map(|mail| mail.event),
        })
    }

    /// Waiting mail of a mailbox, at most `most` events, in log order.
    pub(crate) fn waiting(&self, agent: &AgentId, name: &str, most: usize) -> Vec<Mail> {
        if name.is_empty() {
            let waiting = self.unclaimed.of(agent, Position(0));
            return waiting.take(most).cloned().collect();
        }
        let slot = self.named_slot(agent, name);
        let waiting = slot.map(|slot| slot.mailbox.waiting().take(most));
        waiting.into_iter().flatten().collect()
    }

    /// Logged waiting mail up to a position.
    pub(crate) fn waiting_upto(
        &self,
        agent: &AgentId,
        name: &str,
        upto: Position,
        most: usize,
    ) -> Vec<Mail> {
        if name.is_empty() {
            let waiting = self.unclaimed.of(agent, Position(0));
            let waiting = waiting.take_while(|mail| mail.position <= Some(upto));
            return waiting.take(most).cloned().collect();
        }
        let slot = self.named_slot(agent, name);
        let waiting = slot.map(|slot| slot.mailbox.waiting_upto(upto).take(most));
        waiting.into_iter().flatten().collect()
    }

    /// Last use of a mailbox, if known.
    pub(crate) fn used(&self, id: MailboxId) -> Option<SystemTime> {
        self.slots.get(&id)?.used
    }

    /// Durable mailboxes opened after another one, at most `limit`, in order, with their last use.
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

    /// True if an agent has a durable mailbox.
    pub(crate) fn is_known(&self, agent: &AgentId) -> bool {
        let ids = self.of_agent(agent);
        ids.into_iter().any(|id| self.durable(id).is_some())
    }

    /// True if a stream of an agent takes tasks.
    pub(crate) fn takes_tasks(&self, agent: &AgentId) -> bool {
        let slots = self.by_agent.get(agent).into_iter().flatten();
        let mut slots = slots.filter_map(|id| self.slots.get(id));
        slots.any(|slot| {
            let is_stream = matches!(slot.lifetime, Lifetime::Stream(_));
            is_stream && slot.filter.kinds.contains(&EventKind::Task)
        })
    }

    /// Number of events in a mailbox, and their bytes.
    pub(crate) fn held(&self, id: MailboxId) -> (usize, usize) {
        let slot = self.slots.get(&id);
        slot.map_or((0, 0), |s| (s.mailbox.events(), s.mailbox.bytes()))
    }

    /// True if an event is in a mailbox, waiting or leased.
    pub(crate) fn holds(&self, id: MailboxId, position: Position) -> bool {
        self.slots
            .get(&id)
            .is_some_and(|s| s.mailbox.holds(position))
    }
}
