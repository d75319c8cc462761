//! What happens to mailboxes once the log is safe up to a position: events are delivered, in their order, and those that mailboxes take
//! alike together.

use std::sync::Arc;

use agenthub_proto::{
    a2a::Message,
    agenthub::{AgentEvent, AgentEventMetadata, agent_event::Payload},
};

use super::core::{Core, Now};
use crate::{
    id::AgentId,
    log::{Entry, Position, Published, Record},
    routing::Route,
    sealed::Sealed,
    segment::{Segment, has_room_for},
    state::Delivering,
};

/// See the module's description.
#[derive(Debug)]
pub(super) struct Held {
    until: Position,
    what: Waiting,
}

#[derive(Debug)]
enum Waiting {
    /// An event is delivered.
    Event(Published, Delivering),
    /// Plain messages are delivered that mailboxes take alike. One at least.
    Alike(Vec<(Position, Arc<Sealed>)>, Route, Delivering),
    /// Events are delivered that may be lost.
    Passing(Arc<Segment>, Route, Delivering),
    /// What waits for an agent that has left is forgotten.
    Forget(AgentId),
}

impl Core {
    /// Delivers events that are in no log, after those that came before them.
    pub(super) fn pass(&mut self, segment: Arc<Segment>, route: Route) {
        let what = Waiting::Passing(segment, route, self.delivering(None));
        let until = self.last();
        self.held.push_back(Held { until, what });
    }

    /// Delivers plain messages that mailboxes take alike, once the log has them. Where all were published before, there are none.
    pub(super) fn hold(&mut self, events: Vec<(Position, Arc<Sealed>)>, route: Route) {
        let (Some((first, _)), Some((until, _))) = (events.first(), events.last()) else {
            return;
        };
        let (until, how) = (*until, self.delivering(Some(*first)));
        let what = Waiting::Alike(events, route, how);
        self.held.push_back(Held { until, what });
    }

    /// Does what follows from a record once the log has it.
    pub(super) fn hold_record(&mut self, record: &Record) {
        let until = record.position;
        let what = match &record.entry {
            Entry::Published(published) if plain(&published.event).is_some() => {
                let events = vec![(until, published.event.clone())];
                return self.hold(events, published.route.clone());
            }
            Entry::Published(published) => {
                Waiting::Event(published.clone(), self.delivering(Some(until)))
            }
            Entry::Unregistered { agent } => Waiting::Forget(agent.clone()),
            _ => return,
        };
        self.held.push_back(Held { until, what });
    }

    /// Ends a group of the log, and delivers what is safe.
    pub(crate) fn end_group(&mut self, now: Now) {
        self.go_on_giving_up(now);
        loop {
            self.log.commit();
            let safe = self.safe();
            let mut progress = false;
            while let Some(held) = self.held.pop_front_if(|held| held.until <= safe) {
                progress = true;
                let undelivered = match held.what {
                    Waiting::Event(published, how) => {
                        self.state.deliver(&published, how, now.instant)
                    }
                    Waiting::Alike(mut events, route, how) => {
                        self.take_alike(&mut events, &route, safe);
                        let segment = Segment::logged(events).into();
                        self.state.pass(&segment, &route, how, now.instant)
                    }
                    Waiting::Passing(segment, route, how) => {
                        self.state.pass(&segment, &route, how, now.instant)
                    }
                    Waiting::Forget(agent) => {
                        self.state.mailboxes.unclaimed.drop_all_of(&agent);
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
        let mut size = bytes(events);
        while let Some(Held {
            what: Waiting::Alike(more, ..),
            ..
        }) = self.held.pop_front_if(|held| match &held.what {
            Waiting::Alike(more, to, _) => {
                held.until <= safe
                    && has_room_for(events.len() + more.len(), size + bytes(more))
                    && to == route
                    && is_like(&first, &more[0].1)
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

/// The message that an event is, if it belongs to no task and is due at once.
fn plain(event: &AgentEvent) -> Option<&Message> {
    let is_due = |r: &AgentEventMetadata| r.deliver_at.is_none();
    match &event.payload {
        Some(Payload::Message(message)) if message.task_id.is_empty() => {
            let routing = event.routing.as_ref();
            routing.is_none_or(is_due).then_some(message)
        }
        _ => None,
    }
}

/// Whether mailboxes take a plain message as they take another one with the same route: all that filters and lanes look at is the same.
fn is_like(one: &AgentEvent, other: &AgentEvent) -> bool {
    let messages = plain(one).zip(plain(other));
    messages.is_some_and(|(message, another)| {
        message.context_id == another.context_id && message.task_type() == another.task_type()
    }) && one.sender() == other.sender()
        && one.priority() == other.priority()
        && event_type(one) == event_type(other)
}

fn event_type(event: &AgentEvent) -> Option<&str> {
    let routing = event.routing.as_ref();
    routing.map(|r| r.event_type.as_str())
}
