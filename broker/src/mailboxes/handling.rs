//! Operations of instances on mail.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Lifetime, Mailboxes, from_mailbox};
use crate::{
    id::{AgentId, InstanceId, MailboxId, Version},
    log::Position,
    mailbox::{Delivery, Portion, Reclaimed, Reclaiming, Undelivered},
    sealed::Sealed,
};

impl Mailboxes {
    /// Takes the next deliveries from a mailbox for an instance, at most `limit` events at first. `hand` returns the
    /// limit after each.
    pub(crate) fn take(
        &mut self,
        id: MailboxId,
        instance: &InstanceId,
        version: Option<&Version>,
        count: usize,
        now: Instant,
        mut hand: impl FnMut(Delivery) -> usize,
    ) {
        self.with(id, |mailbox| {
            let mut left = count;
            while left > 0
                && let Some(delivery) = mailbox.take(instance, version, left, now)
            {
                left = hand(delivery);
            }
        });
    }

    /// See [`Mailbox::undo`].
    pub(crate) fn undo(
        &mut self,
        id: MailboxId,
        positions: &[Position],
        instance: &InstanceId,
        now: Instant,
    ) {
        self.with(id, |mailbox| mailbox.undo(positions, instance, now));
    }

    /// Marks a mailbox that has lost mail which nobody else has.
    pub(crate) fn overflow(&mut self, id: MailboxId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.has_overflowed |= slot.lifetime != Lifetime::Durable;
        }
    }

    /// True if an instance of an agent holds a lease on this position.
    pub(crate) fn is_out(&self, agent: &AgentId, position: Position) -> bool {
        let ids = self.by_agent.get(agent).into_iter().flatten();
        let mut slots = ids.filter_map(|id| self.slots.get(id));
        slots.any(|slot| slot.mailbox.is_out(position))
    }

    /// The event at this position, if the instance holds a lease on it.
    pub(crate) fn leased(
        &self,
        id: MailboxId,
        position: Position,
        instance: &InstanceId,
    ) -> Option<Arc<Sealed>> {
        self.slots
            .get(&id)?
            .mailbox
            .leased_event(position, instance)
    }

    /// See [`Mailbox::acknowledge`]. Returns the removed positions.
    pub(crate) fn acknowledge(&mut self, id: MailboxId, positions: &[Position]) -> Vec<Position> {
        let was_here = self.with(id, |mailbox| mailbox.acknowledge(positions, None));
        self.wake_others(id);
        was_here.unwrap_or_default()
    }

    /// Marks events as handled by a stream of the agent: other streams need not put them back.
    pub(crate) fn handled(&mut self, agent: &AgentId, positions: &[Position]) {
        self.leaving.handled(agent, positions);
        for id in self.of_agent(agent) {
            let slot = self.slots.get_mut(&id);
            if let Some(slot) = slot.filter(|s| s.lifetime != Lifetime::Durable) {
                let held = positions.iter().filter(|p| slot.mailbox.holds(**p));
                slot.handled.extend(held);
            }
        }
    }

    /// The same, restricted to an instance.
    pub(crate) fn acknowledge_from(
        &mut self,
        id: MailboxId,
        positions: &[Position],
        instance: &InstanceId,
    ) -> Vec<Position> {
        if let Some(slot) = self.slots.get_mut(&id).filter(|s| !s.handled.is_empty()) {
            for position in positions {
                slot.handled.remove(position);
            }
        }
        let was_here = self.with(id, |mailbox| mailbox.acknowledge(positions, Some(instance)));
        self.wake_others(id);
        was_here.unwrap_or_default()
    }

    /// See [`Mailbox::refuse`].
    pub(crate) fn refuse(
        &mut self,
        id: MailboxId,
        position: Position,
        instance: &InstanceId,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Vec<Undelivered> {
        let given_up = self.with(id, |mailbox| {
            mailbox.refuse(position, instance, delay, reason, now)
        });
        self.wake_others(id);
        from_mailbox(id, given_up.unwrap_or_default())
    }

    /// See [`Mailbox::give_up_some`]. Processes one portion.
    pub(crate) fn give_up_some(&mut self, id: MailboxId, reason: &str) -> Vec<Undelivered> {
        let mut portion = Portion::new();
        let given_up = self.with(id, |mailbox| mailbox.give_up_some(&mut portion, reason));
        from_mailbox(id, given_up.unwrap_or_default())
    }

    /// See [`Mailbox::extend`].
    pub(crate) fn extend(
        &mut self,
        id: MailboxId,
        positions: &[Position],
        instance: &InstanceId,
        now: Instant,
    ) {
        self.with(id, |mailbox| mailbox.extend(positions, instance, now));
    }

    /// See [`Mailbox::reclaim`].
    pub(crate) fn reclaim(
        &mut self,
        id: MailboxId,
        instance: &InstanceId,
        reclaiming: &mut Reclaiming,
        now: Instant,
    ) -> Reclaimed {
        let reclaimed = self.with(id, |mailbox| mailbox.reclaim(instance, reclaiming, now));
        let reclaimed = reclaimed.unwrap_or_default();
        Reclaimed {
            given_up: from_mailbox(id, reclaimed.given_up),
            ..reclaimed
        }
    }

    /// Releases the leases of an instance that is gone: its events are redelivered.
    pub(crate) fn release(
        &mut self,
        agent: &AgentId,
        instance: &InstanceId,
        now: Instant,
    ) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        for id in self.of_agent(agent) {
            let given_up = self.with(id, |mailbox| mailbox.release(instance, now));
            undelivered.extend(from_mailbox(id, given_up.unwrap_or_default()));
            self.wake(id);
        }
        undelivered
    }
}
