//! Queue of deliveries that wait for the log. They leave in log order; unlogged events wait only for records of their
//! own order key.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::{id::OrderKey, log::Position, routing::Route, segment::Segment, state::Delivering};

use super::{
    coming::{Coming, Expected},
    held::{Held, Waiting},
};

/// Unlogged events.
#[derive(Debug)]
pub(super) struct Passing {
    pub(super) segment: Arc<Segment>,
    pub(super) route: Route,
    pub(super) how: Delivering,
    pub(super) expected: Option<Box<Expected>>,
}

/// Overhead of each segment, in bytes.
const SEGMENT_BYTES: usize = 512;

impl Passing {
    /// Approximate memory.
    pub(super) fn bytes(&self) -> usize {
        SEGMENT_BYTES + self.segment.bytes(0..self.segment.len())
    }
}

/// The delivery that unlogged events follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ahead(u64);

/// The queue, see the module.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queue: VecDeque<Held>,
    /// Number of the first delivery.
    first: u64,
    /// Last delivery of each order key, among those indexed.
    by_order: HashMap<OrderKey, u64>,
    /// Number of the first delivery that is not indexed. Only unlogged events need the index: it costs nothing while
    /// there are none.
    unindexed: u64,
    /// Unlogged events that need not wait.
    ready: VecDeque<Passing>,
    /// Bytes of unlogged events.
    bytes: usize,
    /// Bytes of all events.
    coming: Coming,
    /// Deliveries indexed so far.
    #[cfg(test)]
    pub(super) looks: usize,
}

impl Pending {
    /// Bytes of unlogged events. Those of records count in the log.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of all events that wait, by the owners of their recipients.
    pub(super) fn coming(&self) -> &Coming {
        &self.coming
    }

    /// Number of deliveries that wait.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.queue.iter()
    }

    pub(super) fn push(&mut self, held: Held) {
        self.bytes += held.bytes;
        self.coming.add(held.expected.as_deref());
        self.queue.push_back(held);
    }

    /// The last waiting delivery of an order key.
    pub(super) fn last_of(&mut self, order: &OrderKey) -> Option<Ahead> {
        if self.queue.is_empty() {
            return None;
        }
        let looked_at = index(self.first, self.unindexed);
        for held in self.queue.iter().skip(looked_at) {
            self.by_order.insert(held.order.clone(), self.unindexed);
            self.unindexed += 1;
            #[cfg(test)]
            {
                self.looks += 1;
            }
        }
        self.by_order.get(order).copied().map(Ahead)
    }

    /// Adds unlogged events, to leave right after a delivery; at once without one.
    pub(super) fn pass(&mut self, passing: Passing, ahead: Option<Ahead>) {
        self.coming.add(passing.expected.as_deref());
        let ahead = ahead.map(|Ahead(number)| index(self.first, number));
        match ahead.and_then(|index| self.queue.get_mut(index)) {
            Some(held) => {
                let bytes = passing.bytes();
                self.bytes += bytes;
                held.bytes += bytes;
                held.followers.push(passing);
            }
            None => self.ready.push_back(passing),
        }
    }

    /// The next delivery, if its record is durable.
    pub(super) fn next(&mut self, safe: Position) -> Option<Waiting> {
        if let Some(passing) = self.ready.pop_front() {
            self.coming.remove(passing.expected.as_deref());
            return Some(Waiting::Passing(passing));
        }
        self.next_if(|held| held.until <= safe)
    }

    /// The first delivery if it satisfies the predicate, and nothing is ahead of it.
    pub(super) fn next_if(&mut self, is_wanted: impl FnOnce(&Held) -> bool) -> Option<Waiting> {
        if !self.ready.is_empty() {
            return None;
        }
        let held = self.queue.pop_front_if(|held| is_wanted(held))?;
        if self.first < self.unindexed {
            if self.by_order.get(&held.order) == Some(&self.first) {
                self.by_order.remove(&held.order);
            }
        } else {
            self.unindexed += 1;
        }
        self.first += 1;
        self.bytes -= held.bytes;
        self.coming.remove(held.expected.as_deref());
        self.ready.extend(held.followers);
        Some(held.what)
    }
}

fn index(first: u64, number: u64) -> usize {
    usize::try_from(number - first).expect("the queue is in memory")
}
