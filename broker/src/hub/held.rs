//! Deliveries that wait for their records to be durable: in log order, and together if mailboxes treat the events
//! alike.

use std::{cell::LazyCell, sync::Arc};

use agenthub_proto::agenthub::{AgentEvent, AgentEventMetadata, agent_event::Payload};

use super::{
    coming::Expected,
    core::{Core, Now},
    pending::{Ahead, Passing},
};
use crate::{
    Error,
    id::{AgentId, OrderKey},
    log::{Entry, Position, Published, Record},
    routing::Route,
    sealed::Sealed,
    segment::{Segment, has_room_for},
    state::Delivering,
    traits::Traits,
};

/// Limit on bytes of unlogged events that wait for the log; beyond it, events that would have to wait are refused.
pub(super) const HELD_BYTES: usize = 16 * 1024 * 1024;

/// A delivery that waits for its record to be durable.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) until: Position,
    pub(super) order: OrderKey,
    pub(super) what: Waiting,
    /// Unlogged events of the same order key that arrived after it.
    pub(super) followers: Vec<Passing>,
    /// Bytes of unlogged events.
    pub(super) bytes: usize,
    /// Bytes that it brings to mailboxes, if they count.
    pub(super) expected: Option<Box<Expected>>,
}

#[derive(Debug)]
pub(super) enum Waiting {
    /// Delivery of an event.
    Event(Published, Delivering),
    /// Delivery of plain messages that mailboxes treat alike; at least one.
    Alike(Vec<(Position, Arc<Sealed>)>, Route, Delivering),
    /// Delivery of unlogged events.
    Passing(Passing),
    /// Deletion of the mail that waits for an agent that has left.
    Forget(AgentId),
}

impl Core {
    /// Checks that records, and events that have to wait for them, can be accepted.
    ///
    /// # Errors
    ///
    /// See [`EventLog::admit`](crate::log::EventLog::admit).
    pub(super) fn admit(&self) -> Result<(), Error> {
        self.log.admit()?;
        self.check_held()
    }

    /// Checks that accepted work can continue.
    ///
    /// # Errors
    ///
    /// See [`EventLog::admit_accepted`](crate::log::EventLog::admit_accepted).
    pub(super) fn admit_accepted(&self) -> Result<(), Error> {
        self.log.admit_accepted()?;
        self.check_held()
    }

    /// Checks that there is room for events that wait for the log.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`].
    pub(super) fn check_held(&self) -> Result<(), Error> {
        match self.held.bytes() > HELD_BYTES || self.giving_up.is_behind() {
            true => Err(Error::behind()),
            false => Ok(()),
        }
    }

    /// Checks that unlogged events of an order key can be accepted, and returns the delivery that they follow. Without
    /// one they need not wait for the disk.
    ///
    /// # Errors
    ///
    /// See [`admit`](Self::admit).
    pub(super) fn admit_passing(&mut self, order: &OrderKey) -> Result<Option<Ahead>, Error> {
        let ahead = self.held.last_of(order);
        match ahead {
            Some(_) => self.admit()?,
            None => self.commits.latest().admit()?,
        }
        Ok(ahead)
    }

    /// Delivers unlogged events, right after the last waiting delivery of their order key.
    pub(super) fn pass(
        &mut self,
        segment: Arc<Segment>,
        route: Route,
        ahead: Option<Ahead>,
        now: Now,
    ) {
        let how = self.delivering(None, now);
        let passing = Passing {
            expected: self.expected(&route, segment.bytes(0..segment.len())),
            segment,
            route,
            how,
        };
        self.held.pass(passing, ahead);
    }

    /// Delivers an unlogged event once everything before it is durable.
    pub(super) fn pass_when_safe(
        &mut self,
        event: Arc<Sealed>,
        route: Route,
        order: OrderKey,
        now: Now,
    ) {
        let expected = self.expected(&route, event.size());
        let passing = Passing {
            segment: Arc::new(Segment::of(event)),
            route,
            how: self.delivering(None, now),
            expected: None,
        };
        self.held.push(Held {
            expected,
            until: self.last(),
            order,
            bytes: passing.bytes(),
            what: Waiting::Passing(passing),
            followers: Vec::new(),
        });
    }

    /// Queues plain messages that mailboxes treat alike, for delivery once durable. Empty if all were duplicates.
    pub(super) fn hold(
        &mut self,
        events: Vec<(Position, Arc<Sealed>)>,
        route: Route,
        order: OrderKey,
        now: Now,
    ) {
        let (Some((first, _)), Some((until, _))) = (events.first(), events.last()) else {
            return;
        };
        let (until, how) = (*until, self.delivering(Some(*first), now));
        let bytes = events.iter().map(|(_, event)| event.size()).sum();
        self.held.push(Held {
            expected: self.expected(&route, bytes),
            until,
            order,
            what: Waiting::Alike(events, route, how),
            followers: Vec::new(),
            bytes: 0,
        });
    }

    /// Queues the effects of a record until it is durable.
    pub(super) fn hold_record(&mut self, record: &Record, now: Now) {
        let until = record.position;
        let mut expected = None;
        let what = match &record.entry {
            Entry::Published(published) if is_plain(&published.event) => {
                let events = vec![(until, published.event.clone())];
                let (route, order) = (published.route.clone(), record.order.clone());
                return self.hold(events, route, order, now);
            }
            Entry::Published(published) => {
                expected = self.expected(&published.route, published.event.size());
                Waiting::Event(published.clone(), self.delivering(Some(until), now))
            }
            Entry::Unregistered { agent } => Waiting::Forget(agent.clone()),
            _ => return,
        };
        self.held.push(Held {
            expected,
            until,
            order: record.order.clone(),
            what,
            followers: Vec::new(),
            bytes: 0,
        });
    }

    /// Ends a group of the log, and delivers durable events. The clock is read only if there is something to do.
    pub(crate) fn end_group(&mut self, clock: impl FnOnce() -> Now) {
        let now = LazyCell::new(clock);
        self.go_on_giving_up(|| *now);
        loop {
            self.log.commit();
            let safe = self.safe();
            let mut progress = false;
            while let Some(what) = self.held.next(safe) {
                progress = true;
                let undelivered = match what {
                    Waiting::Event(published, how) => {
                        let waited = now.instant.saturating_duration_since(how.since);
                        self.metrics.committed(&published.event, waited, 1);
                        self.state.deliver(&published, how, now.instant)
                    }
                    Waiting::Alike(mut events, route, how) => {
                        self.take_alike(&mut events, &route, safe);
                        let waited = now.instant.saturating_duration_since(how.since);
                        self.metrics
                            .committed(&events[0].1, waited, events.len() as u64);
                        let segment = Segment::logged(events).into();
                        self.state.pass(&segment, &route, how, now.instant)
                    }
                    Waiting::Passing(Passing {
                        segment,
                        route,
                        how,
                        ..
                    }) => self.state.pass(&segment, &route, how, now.instant),
                    Waiting::Forget(agent) => {
                        self.state.mailboxes.drop_waiting(&agent);
                        continue;
                    }
                };
                if !undelivered.is_empty() {
                    self.give_up(undelivered, *now);
                }
            }
            if !progress {
                return;
            }
        }
    }

    /// Adds the following alike messages, as far as they are durable and fit into a segment.
    fn take_alike(
        &mut self,
        events: &mut Vec<(Position, Arc<Sealed>)>,
        route: &Route,
        safe: Position,
    ) {
        let bytes = |events: &[(Position, Arc<Sealed>)]| -> usize {
            events.iter().map(|(_, event)| event.size()).sum()
        };
        let first = events[0].1.clone();
        let traits = Traits::of(&first);
        let mut size = bytes(events);
        while let Some(Waiting::Alike(more, ..)) = self.held.next_if(|held| match &held.what {
            Waiting::Alike(more, to, _) => {
                held.until <= safe
                    && has_room_for(events.len() + more.len(), size + bytes(more))
                    && to == route
                    && traits == Traits::of(&more[0].1)
            }
            _ => false,
        }) {
            size += bytes(&more);
            events.extend(more);
        }
    }

    /// Positions of an agent's events that wait for the log.
    pub(crate) fn held_for<'a>(
        &'a self,
        agent: &'a AgentId,
    ) -> impl Iterator<Item = Position> + 'a {
        let is_for = |route: &Route| match route {
            Route::To(to) => to.iter().any(|address| address.agent == *agent),
            Route::Everyone => false,
        };
        let held = self.held.iter().filter(move |held| match &held.what {
            Waiting::Event(Published { route, .. }, _) | Waiting::Alike(_, route, _) => {
                is_for(route)
            }
            Waiting::Passing(..) | Waiting::Forget(_) => false,
        });
        held.flat_map(Held::positions)
    }

    /// Positions of all events that wait for the log, in order.
    pub(super) fn held_positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.held.iter().flat_map(Held::positions)
    }
}

impl Held {
    /// Positions of the events.
    fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        let (one, several) = match &self.what {
            Waiting::Event(_, how) => (how.position, &[][..]),
            Waiting::Alike(events, ..) => (None, &events[..]),
            Waiting::Passing(..) | Waiting::Forget(_) => (None, &[][..]),
        };
        one.into_iter().chain(several.iter().map(|(at, _)| *at))
    }
}

/// True for a message without a task that is due at once.
fn is_plain(event: &AgentEvent) -> bool {
    let is_due = |r: &AgentEventMetadata| r.deliver_at.is_none();
    let is_message = matches!(&event.payload, Some(Payload::Message(m)) if m.task_id.is_empty());
    is_message && event.routing.as_ref().is_none_or(is_due)
}
