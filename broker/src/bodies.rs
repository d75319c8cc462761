//! Memory limit on the bodies of events in mailboxes. Within the limit, events are in memory; beyond it only their
//! heads are, and the bodies are read from the log for delivery.
//!
//! Half of the limit is for mail that is not delivered soon, so that mail of offline agents does not displace that of
//! connected ones.

use std::{
    cell::{Cell, OnceCell},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{mailbox::Mail, sealed::Sealed, segment::Segment};

/// Counter and limit. Clones share the counter.
#[derive(Clone, Debug)]
pub(crate) struct Bodies {
    bytes: Arc<AtomicUsize>,
    bound: usize,
}

/// Expected time of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivered {
    /// A stream waits for it, and few events are ahead of it.
    Soon,
    Later,
}

/// A body's share of the counter, released when the body leaves the memory.
#[derive(Debug)]
pub(crate) struct Share {
    counter: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.counter.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Bodies {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            bytes: Arc::default(),
            bound,
        }
    }

    /// Bytes of the bodies in memory. Each counts once, whatever the number of mailboxes that hold it.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn has_room(&self, bytes: usize, delivered: Delivered) -> bool {
        let bound = match delivered {
            Delivered::Soon => self.bound,
            Delivered::Later => self.bound / 2,
        };
        self.bytes().saturating_add(bytes) <= bound
    }

    /// True if there is no room for mail that is not delivered soon.
    pub(crate) fn is_half_used(&self) -> bool {
        !self.has_room(1, Delivered::Later)
    }

    /// Counts a body, unless it is counted already.
    fn count(&self, event: &Sealed) {
        event.share.get_or_init(|| {
            let bytes = event.weight();
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            Share {
                counter: self.bytes.clone(),
                bytes,
            }
        });
    }

    /// An event of the log in the form kept in memory.
    pub(crate) fn shelve_event(&self, event: &Arc<Sealed>, delivered: Delivered) -> Arc<Sealed> {
        if !event.is_head() && self.has_room(event.uncounted(), delivered) {
            self.count(event);
            return event.clone();
        }
        Arc::new(event.head())
    }

    /// Converts mail to the form kept in memory. A copy's body, and an event without a position, is not in the log, and
    /// stays.
    pub(crate) fn shelve(&self, mail: &mut Mail, delivered: Delivered) {
        if mail.position.is_some() && !mail.is_copy {
            mail.event = self.shelve_event(&mail.event, delivered);
        } else if mail.is_copy {
            self.count(&mail.event);
        }
    }
}

/// Events shared by mailboxes: with their bodies, or as the head of the first.
#[derive(Debug)]
pub(crate) struct Shelving<'a> {
    bodies: Bodies,
    whole: &'a Arc<Segment>,
    /// Bytes of the bodies that are not counted yet.
    uncounted: Cell<usize>,
    stored: OnceCell<Arc<Segment>>,
}

impl<'a> Shelving<'a> {
    pub(crate) fn new(bodies: &Bodies, whole: &'a Arc<Segment>) -> Self {
        let logged = match whole.positions() {
            [] => &[],
            _ => whole.sealed(),
        };
        let uncounted = logged.iter().map(|event| event.uncounted()).sum();
        Self {
            bodies: bodies.clone(),
            whole,
            uncounted: Cell::new(uncounted),
            stored: OnceCell::new(),
        }
    }

    /// The events in the form that one mailbox holds. Events without a position are not in the log, and stay.
    pub(crate) fn shelve(&self, delivered: impl FnOnce() -> Delivered) -> &Arc<Segment> {
        if self.whole.positions().is_empty() || self.whole.is_stored() {
            return self.whole;
        }
        if !self.bodies.has_room(self.uncounted.get(), delivered()) {
            return self.stored.get_or_init(|| Arc::new(self.whole.stored()));
        }
        if self.uncounted.take() > 0 {
            let events = self.whole.sealed().iter();
            events.for_each(|event| self.bodies.count(event));
        }
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Role},
        agenthub::{AgentEvent, agent_event::Payload},
    };

    use super::*;
    use crate::log::Position;

    fn event() -> Arc<Sealed> {
        let text = "x".repeat(1000);
        let event = AgentEvent {
            payload: Some(Payload::Message(Message::new(Role::User, &text))),
            ..AgentEvent::default()
        };
        Arc::new(event.into())
    }

    fn segment() -> Arc<Segment> {
        Segment::logged(vec![(Position(1), event()), (Position(2), event())]).into()
    }

    #[test]
    fn a_body_counts_once_however_many_hold_it_and_until_nobody_does() {
        let bodies = Bodies::new(usize::MAX);
        let segment = segment();
        let held: Vec<Arc<Segment>> = (0..10)
            .map(|_| {
                Shelving::new(&bodies, &segment)
                    .shelve(|| Delivered::Later)
                    .clone()
            })
            .collect();
        let both: usize = segment.sealed().iter().map(|e| e.weight()).sum();
        assert_eq!(bodies.bytes(), both);
        let one = bodies.shelve_event(&segment.event(0), Delivered::Later);
        assert_eq!(bodies.bytes(), both);
        drop(segment);
        drop(held);
        assert_eq!(bodies.bytes(), one.weight());
        drop(one);
        assert_eq!(bodies.bytes(), 0);
    }

    #[test]
    fn half_of_the_bound_is_for_what_is_delivered_soon() {
        let weight = event().weight();
        let bodies = Bodies::new(4 * weight);
        let shelve = |delivered| bodies.shelve_event(&event(), delivered);
        let mut held: Vec<_> = (0..3).map(|_| shelve(Delivered::Later)).collect();
        let heads = |held: &[Arc<Sealed>]| held.iter().filter(|e| e.is_head()).count();
        assert_eq!(heads(&held), 1);
        assert_eq!(held[2].size(), held[0].size());
        held.extend((0..3).map(|_| shelve(Delivered::Soon)));
        assert_eq!(heads(&held), 2);
        assert_eq!(bodies.bytes(), 4 * weight);
        drop(held);
        assert!(!shelve(Delivered::Later).is_head());
    }

    #[test]
    fn events_that_only_the_log_has_are_known_by_the_head_of_the_first() {
        let bodies = Bodies::new(0);
        let whole = segment();
        let shelving = Shelving::new(&bodies, &whole);
        let stored = shelving.shelve(|| Delivered::Soon);
        assert!(stored.is_stored());
        assert!(Arc::ptr_eq(stored, shelving.shelve(|| Delivered::Later)));
        assert_eq!(stored.positions(), whole.positions());
        assert_eq!((stored.len(), stored.bytes(0..2)), (2, whole.bytes(0..2)));
        assert_eq!(stored.bytes(1..2), whole.bytes(1..2));
        assert!(stored.event(1).is_head());
        let passing = Arc::new(Segment::of(event()));
        let shelving = Shelving::new(&bodies, &passing);
        assert!(
            !shelving.shelve(|| Delivered::Later).is_stored(),
            "it is in no log"
        );
        assert_eq!(bodies.bytes(), 0);
    }
}
