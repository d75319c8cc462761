//! What instances do with mail.

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use super::{Lifetime, Mailboxes, from_mailbox};
use crate::{
    id::{AgentId, InstanceId, MailboxId, Version},
    log::Position,
    mailbox::{Delivery, Parcel, Reclaimed, Undelivered},
};

impl Mailboxes {
    /// The next deliveries from a mailbox to an instance, at most so many.
    pub(crate) fn take(
        &mut self,
        id: MailboxId,
        instance: &InstanceId,
        version: Option<&Version>,
        count: usize,
        now: Instant,
    ) -> Vec<Delivery> {
        let taken = self.with(id, |mailbox| {
            let mut taken = Vec::with_capacity(count.min(mailbox.waits()));
            while taken.len() < count
                && let Some(delivery) = mailbox.take(instance, version, now)
            {
                taken.push(delivery);
            }
            taken
        });
        taken.unwrap_or_default()
    }

    /// See [`Mailbox::take_passing`].
    pub(crate) fn take_passing(
        &mut self,
        id: MailboxId,
        instance: &InstanceId,
        count: usize,
        now: Instant,
    ) -> Option<Parcel> {
        self.with(id, |mailbox| mailbox.take_passing(count, instance, now))?
    }

    /// Whether an instance of an agent has a delivery of this position.
    pub(crate) fn is_out(&self, agent: &AgentId, position: Position) -> bool {
        let ids = self.by_agent.get(agent).into_iter().flatten();
        let mut slots = ids.filter_map(|id| self.slots.get(id));
        slots.any(|slot| slot.mailbox.is_out(position))
    }

    /// See [`Mailbox::acknowledge`]. Returns what was there.
    pub(crate) fn acknowledge(
        &mut self,
        id: MailboxId,
        mut positions: Vec<Position>,
    ) -> Vec<Position> {
        let was_here = self.with(id, |mailbox| {
            positions.retain(|p| mailbox.acknowledge(*p));
            positions
        });
        self.wake_others(id);
        was_here.unwrap_or_default()
    }

    /// What was in no durable mailbox was handled: other streams of the agent need not hand it on.
    pub(crate) fn handled(&mut self, agent: &AgentId, positions: &[Position]) {
        for id in self.of_agent(agent) {
            let slot = self.slots.get_mut(&id);
            if let Some(slot) = slot.filter(|s| s.lifetime != Lifetime::Durable) {
                let held = positions.iter().filter(|p| slot.mailbox.holds(**p));
                slot.handled.extend(held);
            }
        }
    }

    /// See [`Mailbox::acknowledge_from`]. Returns what was there.
    pub(crate) fn acknowledge_from(
        &mut self,
        id: MailboxId,
        mut positions: Vec<Position>,
        instance: &InstanceId,
    ) -> Vec<Position> {
        if let Some(slot) = self.slots.get_mut(&id).filter(|s| !s.handled.is_empty()) {
            for position in &positions {
                slot.handled.remove(position);
            }
        }
        let was_here = self.with(id, |mailbox| {
            positions.retain(|p| mailbox.acknowledge_from(*p, instance));
            positions
        });
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
        let given_up = self
            .with(id, |mailbox| {
                mailbox.refuse(position, instance, delay, reason, now)
            })
            .flatten();
        self.wake_others(id);
        from_mailbox(id, given_up)
    }

    /// See [`Mailbox::extend`].
    pub(crate) fn extend(
        &mut self,
        id: MailboxId,
        position: Position,
        instance: &InstanceId,
        now: Instant,
    ) {
        self.with(id, |mailbox| mailbox.extend(position, instance, now));
    }

    /// See [`Mailbox::reclaim`].
    pub(crate) fn reclaim(
        &mut self,
        id: MailboxId,
        instance: &InstanceId,
        claimed: &HashSet<Position>,
        now: Instant,
    ) -> Reclaimed {
        let reclaimed = self.with(id, |mailbox| mailbox.reclaim(instance, claimed, now));
        let reclaimed = reclaimed.unwrap_or_default();
        Reclaimed {
            given_up: from_mailbox(id, reclaimed.given_up),
            ..reclaimed
        }
    }

    /// An instance is gone: what it had is to be delivered again.
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
