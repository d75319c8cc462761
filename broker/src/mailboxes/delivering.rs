//! Delivery of events to mailboxes.

use std::{collections::HashSet, sync::Arc, time::Duration};

use agenthub_proto::agenthub::{AgentEvent, Concern, EventKind, agent_event::Payload};
use tokio::time::Instant;

use super::{Lifetime, Mailboxes, from_mailbox};
use crate::{
    bodies::{Delivered, Shelving},
    filter::Filter,
    id::{Address, AgentId, MailboxId, OrderKey, Version},
    log::Position,
    mailbox::{Mail, Mailbox, Timing, Undelivered},
    routing::Route,
    sealed::Sealed,
    segment::Segment,
    traits::Traits,
};

/// Mail counts as delivered soon while fewer events are ahead of it on a stream.
const SOON: usize = 1024;

/// Waiting mail that a subscription claims.
#[derive(Debug)]
pub(crate) struct Claims {
    /// In log order.
    pub(crate) positions: Vec<Position>,
    /// Position after which more waits.
    pub(crate) next: Option<Position>,
}

/// Events for delivery, represented by the first: the others differ only in position and body.
#[derive(Clone, Debug)]
pub(crate) struct Post<'a> {
    pub(crate) event: &'a Arc<Sealed>,
    pub(crate) position: Option<Position>,
    pub(crate) traits: Traits<'a>,
    pub(crate) order: &'a OrderKey,
    pub(crate) route: &'a Route,
    pub(crate) sender: &'a AgentId,
    /// Requester of the event's task.
    pub(crate) requester: Option<&'a AgentId>,
    /// Number of mailboxes ever opened when it happened.
    pub(crate) mailboxes: u64,
    /// Number of directory changes then, this one included.
    pub(crate) changes: u64,
    /// Age of the event.
    pub(crate) age: Duration,
    /// True for replayed events, whose overflow is in a later record.
    pub(crate) is_replayed: bool,
}

impl Mailboxes {
    /// True if a mailbox of the route takes events of this kind.
    pub(crate) fn wanted(&self, kind: EventKind, route: &Route, sender: &AgentId) -> bool {
        let takes = |id: &MailboxId| self.takes(*id, kind);
        self.observers.keys().any(takes)
            || match route {
                Route::To(to) => to
                    .iter()
                    .any(|a| self.by_agent.get(&a.agent).into_iter().flatten().any(takes)),
                Route::Everyone => self
                    .slots
                    .iter()
                    .any(|(id, slot)| slot.agent != *sender && takes(id)),
            }
    }

    /// Delivers the events of a segment to the mailboxes of the route. Mail for an agent without subscriptions waits.
    pub(crate) fn deliver(
        &mut self,
        post: &Post<'_>,
        segment: &Arc<Segment>,
        is_known: impl Fn(&AgentId) -> bool,
        now: Instant,
    ) -> Vec<Undelivered> {
        let mut undelivered = match segment.positions() {
            // Events that may be lost do not wait.
            [] => Vec::new(),
            _ => self.keep_unclaimed(post, segment, is_known, now),
        };
        let shelving = Shelving::new(&self.bodies, segment);
        for (id, version) in self.named(post) {
            if let Some(mail) = self.mail_for(id, post, version, now) {
                let segment = shelving.shelve(|| self.delivered(id));
                let add = |mailbox: &mut Mailbox| mailbox.push_segment(&mail, segment, now);
                undelivered.extend(self.add(id, !post.is_replayed, add));
            }
        }
        if post.traits.kind == EventKind::AgentCard {
            self.snapshots.delivered(post.changes);
        }
        undelivered
    }

    /// Expected time of a delivery from a mailbox.
    fn delivered(&self, id: MailboxId) -> Delivered {
        let slot = self.slots.get(&id);
        match slot.is_some_and(|s| !s.listeners.is_empty() && s.mailbox.waits() < SOON) {
            true => Delivered::Soon,
            false => Delivered::Later,
        }
    }

    /// Keeps events for recipients without a subscription that takes them. The events are like that of the post.
    /// Returns mail that exceeds the limits.
    fn keep_unclaimed(
        &mut self,
        post: &Post<'_>,
        segment: &Segment,
        is_known: impl Fn(&AgentId) -> bool,
        now: Instant,
    ) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        let to = match post.route {
            Route::To(to) => to.as_slice(),
            Route::Everyone => &[],
        };
        for Address { agent, version } in to {
            if !self.is_to_wait(agent, post.traits.kind) {
                continue;
            }
            for (event, position) in segment.each() {
                let mut mail = Mail {
                    event,
                    position,
                    ..self.mail(post, agent, version.as_ref(), now)
                };
                if post.is_replayed || self.unclaimed.has_room(&mail) {
                    self.bodies.shelve(&mut mail, Delivered::Later);
                    self.unclaimed.keep(mail, is_known(agent), post.age, now);
                } else {
                    undelivered.push(self.unclaimed.refuse(mail));
                }
            }
        }
        undelivered
    }

    /// The mailboxes of a route, each with the route's version of its agent, and those that receive everything.
    fn named<'a>(&self, post: &Post<'a>) -> Vec<(MailboxId, Option<&'a Version>)> {
        let is_others = |id: &MailboxId| {
            let slot = self.slots.get(id);
            post.sender.is_empty() || slot.is_some_and(|s| s.agent != *post.sender)
        };
        let to = match post.route {
            // Frequent events that few mailboxes take.
            Route::Everyone if post.traits.kind == EventKind::AgentCard => {
                let others = self.watchers.iter().filter(|id| is_others(id));
                return others.map(|id| (*id, None)).collect();
            }
            Route::Everyone => {
                let others = self.slots.keys().filter(|id| is_others(id));
                return others.map(|id| (*id, None)).collect();
            }
            Route::To(to) => to,
        };
        let mut named = Vec::with_capacity(to.len());
        for Address { agent, version } in to {
            let ids = self.by_agent.get(agent).into_iter().flatten();
            named.extend(ids.map(|id| (*id, version.as_ref())));
        }
        if !self.observers.is_empty() {
            let reached: HashSet<MailboxId> = named.iter().map(|(id, _)| *id).collect();
            let others = self.observers.iter().filter(|(id, observed)| {
                !reached.contains(id) && observed.includes(post.sender, to)
            });
            named.extend(others.map(|(id, _)| (*id, None)));
        }
        named
    }

    /// Puts mail into one mailbox, regardless of its route.
    pub(crate) fn put(&mut self, id: MailboxId, mut mail: Mail, now: Instant) {
        self.bodies.shelve(&mut mail, self.delivered(id));
        self.with(id, |mailbox| mailbox.push(&mail, now));
        if let Some(slot) = self.slots.get_mut(&id)
            && slot.lifetime != Lifetime::Durable
        {
            slot.has_overflowed |= !slot.mailbox.surplus().is_empty();
            self.loads
                .count(id, &slot.agent, &slot.mailbox, &mut slot.counted);
        }
        self.wake(id);
    }

    /// Puts mail into one mailbox. Returns the mail that it displaced.
    fn add(
        &mut self,
        id: MailboxId,
        is_bounded: bool,
        add: impl FnOnce(&mut Mailbox),
    ) -> Vec<Undelivered> {
        let evicted = self.with(id, |mailbox| {
            add(mailbox);
            match is_bounded {
                true => mailbox.surplus(),
                false => Vec::new(),
            }
        });
        let evicted = evicted.unwrap_or_default();
        self.wake(id);
        match self.slots.get_mut(&id) {
            Some(slot) if slot.lifetime != Lifetime::Durable => {
                slot.has_overflowed |= !evicted.is_empty();
                Vec::new()
            }
            _ => from_mailbox(id, evicted),
        }
    }

    /// The event as mail for a mailbox, if that takes it.
    pub(crate) fn mail_for(
        &self,
        id: MailboxId,
        post: &Post<'_>,
        version: Option<&Version>,
        now: Instant,
    ) -> Option<Mail> {
        let slot = self.slots.get(&id)?;
        let is_in_snapshot = match &post.event.payload {
            Some(Payload::AgentCard(card)) => {
                let observed = self.observers.get(&id);
                if observed.is_some_and(|observed| !observed.is_about(&card.agent_id)) {
                    return None;
                }
                let is_shown = self.snapshots.shows(id, &card.agent_id, post.changes);
                is_shown || id.0 > post.mailboxes
            }
            _ => false,
        };
        let concern = concern(post, &slot.agent);
        (!is_in_snapshot && slot.filter.accepts(&post.traits, concern))
            .then(|| self.mail(post, &slot.agent, version, now))
    }

    /// Returns given-up mail to its durable mailbox or, if it was in none, to any of the agent's that takes it.
    pub(crate) fn put_again(&mut self, name: &str, mut mail: Mail, is_known: bool, now: Instant) {
        let agent = mail.recipient.clone();
        let takes = |id: &MailboxId| {
            let durable = self.durable(*id);
            durable.is_some_and(|(filter, _)| is_for(&mail, filter))
        };
        let ids: Vec<MailboxId> = match self.find(&agent, name, &Lifetime::Durable) {
            Some(id) => vec![id],
            None => self.of_agent(&agent).into_iter().filter(takes).collect(),
        };
        if ids.is_empty() {
            self.bodies.shelve(&mut mail, Delivered::Later);
            self.unclaimed.keep(mail, is_known, Duration::ZERO, now);
            return;
        }
        for id in ids {
            // A reread may have put it there meanwhile.
            if !mail.position.is_some_and(|p| self.holds(id, p)) {
                self.put(id, mail.clone(), now);
            }
        }
    }

    /// Gives mail that waits for an agent to its first open stream that takes it.
    pub(crate) fn claim_for_open(&mut self, agent: &AgentId, position: Position, now: Instant) {
        let Some(mail) = self.unclaimed.get(agent, position) else {
            return;
        };
        let takes = |id: &MailboxId| {
            let slot = self
                .slots
                .get(id)
                .filter(|s| s.lifetime != Lifetime::Durable);
            slot.is_some_and(|slot| is_for(mail, &slot.filter))
        };
        if let Some(id) = self.of_agent(agent).into_iter().find(takes) {
            for mail in self.unclaimed.claim(agent, &[position]) {
                self.put(id, mail, now);
            }
        }
    }

    /// Checks at most `limit` events that wait for an agent after a position, and returns those that pass a filter.
    pub(crate) fn claimable(
        &self,
        agent: &AgentId,
        filter: &Filter,
        after: Position,
        limit: usize,
    ) -> Claims {
        let mut waiting = self.unclaimed.of(agent, after);
        let mut last = after;
        let looked_at = waiting.by_ref().take(limit).filter_map(|mail| {
            last = mail.position.unwrap_or(last);
            is_for(mail, filter).then_some(mail.position)?
        });
        Claims {
            positions: looked_at.collect(),
            next: waiting.next().map(|_| last),
        }
    }

    /// True if an event for an agent has to wait for a subscription. Older clients open one stream after the other, so
    /// that a message waits for the one that takes messages, whatever other streams exist. A whole task does not wait: it
    /// is an event only if somebody watches, and the message that it came of waits, from which the agent is told of it.
    pub(super) fn is_to_wait(&self, agent: &AgentId, kind: EventKind) -> bool {
        if kind == EventKind::Task {
            return false;
        }
        let ids = self.by_agent.get(agent).into_iter().flatten();
        // A subscription that is being opened takes nothing yet; the mail waits then.
        let mut filters = ids
            .filter_map(|id| self.filter(*id))
            .filter(|f| !f.is_nothing())
            .peekable();
        filters.peek().is_none() || kind == EventKind::Message && !filters.any(|f| f.takes(kind))
    }

    fn mail(
        &self,
        post: &Post<'_>,
        recipient: &AgentId,
        version: Option<&Version>,
        now: Instant,
    ) -> Mail {
        Mail {
            event: post.event.clone(),
            recipient: recipient.clone(),
            position: post.position,
            order: post.order.clone(),
            concern: concern(post, recipient),
            version: version.cloned(),
            is_directed: matches!(post.route, Route::To(_)),
            is_copy: false,
            timing: self.timing(post.event, post.age, now),
        }
    }

    /// Timing of mail for an event of this age.
    pub(crate) fn timing(&self, event: &AgentEvent, age: Duration, now: Instant) -> Timing {
        Timing::of(event, age, self.age, now)
    }

    /// Timing of mail that returns to a mailbox.
    pub(crate) fn timing_again(&self, now: Instant) -> Timing {
        Timing {
            since: now,
            due: None,
            expires: now + self.age,
        }
    }
}

fn is_for(mail: &Mail, filter: &Filter) -> bool {
    filter.accepts(&Traits::of(&mail.event.look()), mail.concern)
}

/// The agent's side of the event's task. What an agent sends itself is work, not an answer.
fn concern(post: &Post<'_>, agent: &AgentId) -> Concern {
    let asked = post.requester == Some(agent);
    let is_own_message = post.traits.kind == EventKind::Message && post.sender == agent;
    if asked && !is_own_message {
        Concern::Replies
    } else {
        Concern::Work
    }
}
