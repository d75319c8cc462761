//! Deliveries once the log is safe up to a position: in the order of the records, and together where mailboxes take events alike.

use std::sync::Arc;

use agenthub_proto::agenthub::{AgentEvent, AgentEventMetadata, agent_event::Payload};

use super::{
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

/// Bytes of events that are in no log and wait for it, from which on nothing is taken in that would have to wait.
const HELD_BYTES: usize = 16 * 1024 * 1024;

/// A delivery that waits for the log.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) until: Position,
    pub(super) order: OrderKey,
    pub(super) what: Waiting,
    /// Events of the same order key that are in no log and came after it.
    pub(super) followers: Vec<Passing>,
    /// Bytes of events that are in no log.
    pub(super) bytes: usize,
}

#[derive(Debug)]
pub(super) enum Waiting {
    /// An event is delivered.
    Event(Published, Delivering),
    /// Plain messages are delivered that mailboxes take alike. One at least.
    Alike(Vec<(Position, Arc<Sealed>)>, Route, Delivering),
    /// Events are delivered that may be lost.
    Passing(Passing),
    /// What waits for an agent that has left is forgotten.
    Forget(AgentId),
}

impl Core {
    /// Whether records, and events that have to wait for them, can be taken in.
    ///
    /// # Errors
    ///
    /// See [`EventLog::admit`](crate::log::EventLog::admit).
    pub(super) fn admit(&self) -> Result<(), Error> {
        self.log.admit()?;
        self.check_held()
    }

    /// Checks that work which was accepted can go on.
    ///
    /// # Errors
    ///
    /// See [`EventLog::admit_accepted`](crate::log::EventLog::admit_accepted).
    pub(super) fn admit_accepted(&self) -> Result<(), Error> {
        self.log.admit_accepted()?;
        self.check_held()
    }

    /// Whether there is room for events that wait for the log.
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

    /// Whether events of an order key that may be lost can be taken in, and which delivery they are to follow. Without one they do not
    /// wait for the disk.
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

    /// Delivers events that are in no log, right behind the last of their order key that waits for it.
    pub(super) fn pass(&mut self, segment: Arc<Segment>, route: Route, ahead: Option<Ahead>) {
        let how = self.delivering(None);
        let passing = Passing {
            segment,
            route,
            how,
        };
        self.held.pass(passing, ahead);
    }

    /// Delivers an event that is in no log once all that has happened before is safe.
    pub(super) fn pass_when_safe(&mut self, event: Arc<Sealed>, route: Route, order: OrderKey) {
        let passing = Passing {
            segment: Arc::new(Segment::of(event)),
            route,
            how: self.delivering(None),
        };
        self.held.push(Held {
            until: self.last(),
            order,
            bytes: passing.bytes(),
            what: Waiting::Passing(passing),
            followers: Vec::new(),
        });
    }

    /// Delivers plain messages that mailboxes take alike, once the log has them. Where all were published before, there are none.
    pub(super) fn hold(
        &mut self,
        events: Vec<(Position, Arc<Sealed>)>,
        route: Route,
        order: OrderKey,
    ) {
        let (Some((first, _)), Some((until, _))) = (events.first(), events.last()) else {
            return;
        };
        let (until, how) = (*until, self.delivering(Some(*first)));
        self.held.push(Held {
            until,
            order,
            what: Waiting::Alike(events, route, how),
            followers: Vec::new(),
            bytes: 0,
        });
    }

    /// Does what follows from a record once the log has it.
    pub(super) fn hold_record(&mut self, record: &Record) {
        let until = record.position;
        let what = match &record.entry {
            Entry::Published(published) if is_plain(&published.event) => {
                let events = vec![(until, published.event.clone())];
                let (route, order) = (published.route.clone(), record.order.clone());
                return self.hold(events, route, order);
            }
            Entry::Published(published) => {
                Waiting::Event(published.clone(), self.delivering(Some(until)))
            }
            Entry::Unregistered { agent } => Waiting::Forget(agent.clone()),
            _ => return,
        };
        self.held.push(Held {
            until,
            order: record.order.clone(),
            what,
            followers: Vec::new(),
            bytes: 0,
        });
    }

    /// Ends a group of the log, and delivers what is safe.
    pub(crate) fn end_group(&mut self, now: Now) {
        self.go_on_giving_up(now);
        loop {
            self.log.commit();
            let safe = self.safe();
            let mut progress = false;
            while let Some(what) = self.held.next(safe) {
                progress = true;
                let undelivered = match what {
                    Waiting::Event(published, how) => {
                        self.state.deliver(&published, how, now.instant)
                    }
                    Waiting::Alike(mut events, route, how) => {
                        self.take_alike(&mut events, &route, safe);
                        let segment = Segment::logged(events).into();
                        self.state.pass(&segment, &route, how, now.instant)
                    }
                    Waiting::Passing(Passing {
                        segment,
                        route,
                        how,
                    }) => self.state.pass(&segment, &route, how, now.instant),
                    Waiting::Forget(agent) => {
                        self.state.mailboxes.drop_waiting(&agent);
                        continue;
                    }
                };
                self.give_up(undelivered, now);
            }
            if !progress {
                return;
            }
        }
    }

    /// Adds to messages those that come next and are alike, as far as they are safe and a segment has room for them.
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

    /// The positions of the events for an agent that wait for the log.
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

    /// The positions of the events that wait for the log, in order.
    pub(super) fn held_positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.held.iter().flat_map(Held::positions)
    }
}

impl Held {
    /// Where the events stand in the log.
    fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        let (one, several) = match &self.what {
            Waiting::Event(_, how) => (how.position, &[][..]),
            Waiting::Alike(events, ..) => (None, &events[..]),
            Waiting::Passing(..) | Waiting::Forget(_) => (None, &[][..]),
        };
        one.into_iter().chain(several.iter().map(|(at, _)| *at))
    }
}

/// Tells whether an event is a message that belongs to no task and is due at once.
fn is_plain(event: &AgentEvent) -> bool {
    let is_due = |r: &AgentEventMetadata| r.deliver_at.is_none();
    let is_message = matches!(&event.payload, Some(Payload::Message(m)) if m.task_id.is_empty());
    is_message && event.routing.as_ref().is_none_or(is_due)
}
