//! What happens to mailboxes once the log is safe up to a position: events are delivered, in their order, and those that mailboxes take
//! alike together.

use std::sync::Arc;

use agenthub_proto::{
    a2a::Message,
    agenthub::{AgentEventMetadata, agent_event::Payload},
};

use super::core::{Core, Now};
use crate::{
    id::AgentId,
    log::{Position, Published},
    mailbox::Undelivered,
    routing::Route,
    segment::Segment,
    state::Delivering,
};

/// See the module's description.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) until: Position,
    pub(super) what: Waiting,
}

#[derive(Debug)]
pub(super) enum Waiting {
    /// An event is delivered.
    Event(Published, Delivering),
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

    /// Ends a group of the log, and delivers what is safe.
    pub(crate) fn end_group(&mut self, now: Now) {
        loop {
            self.log.commit();
            let safe = self.safe();
            let mut progress = false;
            while let Some(held) = self.held.pop_front_if(|held| held.until <= safe) {
                progress = true;
                match held.what {
                    Waiting::Event(published, how) => {
                        let undelivered = self.deliver(&published, how, safe, now);
                        self.give_up(undelivered, now);
                    }
                    Waiting::Passing(segment, route, how) => {
                        let undelivered = self.state.pass(&segment, &route, how, now.instant);
                        self.give_up(undelivered, now);
                    }
                    Waiting::Forget(agent) => self.state.mailboxes.unclaimed.drop_all_of(&agent),
                }
            }
            if !progress {
                return;
            }
        }
    }

    /// Delivers an event, and with it those that come next and are alike, as far as they are safe and fit together.
    fn deliver(
        &mut self,
        first: &Published,
        how: Delivering,
        safe: Position,
        now: Now,
    ) -> Vec<Undelivered> {
        let Some((plain, position)) = plain(first).zip(how.position) else {
            return self.state.deliver(first, how, now.instant);
        };
        let held = &mut self.held;
        let segment = Segment::logged((position, first.event.clone()), || {
            let next = held.pop_front_if(|held| {
                let is_like = |next| is_like(plain, first, next);
                held.until <= safe && event(&held.what).is_some_and(is_like)
            })?;
            Some((next.until, event(&next.what)?.event.clone()))
        });
        self.state
            .deliver_together(&segment.into(), &first.route, how, now.instant)
    }

    /// The positions of the events for an agent that wait for the log.
    pub(crate) fn held_for<'a>(
        &'a self,
        agent: &'a AgentId,
    ) -> impl Iterator<Item = Position> + 'a {
        self.held.iter().filter_map(move |held| match &held.what {
            Waiting::Event(
                Published {
                    route: Route::To(to),
                    ..
                },
                how,
            ) => how
                .position
                .filter(|_| to.iter().any(|a| a.agent == *agent)),
            _ => None,
        })
    }

    /// The positions of the events that wait for the log, in order.
    pub(super) fn held_positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.held.iter().filter_map(|held| match &held.what {
            Waiting::Event(_, how) => how.position,
            Waiting::Passing(..) | Waiting::Forget(_) => None,
        })
    }
}

fn event(what: &Waiting) -> Option<&Published> {
    match what {
        Waiting::Event(published, _) => Some(published),
        Waiting::Passing(..) | Waiting::Forget(_) => None,
    }
}

/// The message that an event is, if it belongs to no task and is due at once.
fn plain(published: &Published) -> Option<&Message> {
    let is_due = |r: &AgentEventMetadata| r.deliver_at.is_none();
    match &published.event.payload {
        Some(Payload::Message(message)) if message.task_id.is_empty() => {
            let routing = published.event.routing.as_ref();
            routing.is_none_or(is_due).then_some(message)
        }
        _ => None,
    }
}

/// Whether mailboxes take an event as they take the first, which is this plain message: all that routes, filters and lanes look at is
/// the same.
fn is_like(message: &Message, first: &Published, next: &Published) -> bool {
    plain(next).is_some_and(|other| {
        other.context_id == message.context_id && other.task_type() == message.task_type()
    }) && next.event.sender() == first.event.sender()
        && next.event.priority() == first.event.priority()
        && event_type(next) == event_type(first)
        && next.route == first.route
}

fn event_type(published: &Published) -> Option<&str> {
    let routing = published.event.routing.as_ref();
    routing.map(|r| r.event_type.as_str())
}
