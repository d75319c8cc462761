//! Deliveries that wait for the log. They leave in the order of their records; events that are in no log wait only for records of their
//! own order key.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::{id::OrderKey, log::Position, routing::Route, segment::Segment, state::Delivering};

use super::held::{Held, Waiting};

/// Events that are in no log.
#[derive(Debug)]
pub(super) struct Passing {
    pub(super) segment: Arc<Segment>,
    pub(super) route: Route,
    pub(super) how: Delivering,
}

/// Counted for each segment beside its events, in bytes.
const SEGMENT_BYTES: usize = 512;

impl Passing {
    /// The memory that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        SEGMENT_BYTES + self.segment.bytes(0..self.segment.len())
    }
}

/// The delivery of a record that others are to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ahead(u64);

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queue: VecDeque<Held>,
    /// The number of the first of the queue.
    first: u64,
    /// The last of each order key in the queue, as far as that was looked at.
    by_order: HashMap<OrderKey, u64>,
    /// The number of the first that was not looked at. Only events that are in no log need the index: it costs records nothing while
    /// there are none.
    unindexed: u64,
    /// Events that wait for nothing any more.
    ready: VecDeque<Passing>,
    /// Bytes of events that are in no log.
    bytes: usize,
    /// Deliveries that were looked at for the index.
    #[cfg(test)]
    pub(super) looks: usize,
}

impl Pending {
    /// Bytes of events that are in no log. Those of records are the log's.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.queue.iter()
    }

    pub(super) fn push(&mut self, held: Held) {
        self.bytes += held.bytes;
        self.queue.push_back(held);
    }

    /// The last delivery of an order key that waits.
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

    /// Adds events that are in no log, to leave right behind a delivery; at once without one.
    pub(super) fn pass(&mut self, passing: Passing, ahead: Option<Ahead>) {
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

    /// The next delivery, where the log is safe that far.
    pub(super) fn next(&mut self, safe: Position) -> Option<Waiting> {
        if let Some(passing) = self.ready.pop_front() {
            return Some(Waiting::Passing(passing));
        }
        self.next_if(|held| held.until <= safe)
    }

    /// The first of the queue if it is like this, and nothing comes before it.
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
        self.ready.extend(held.followers);
        Some(held.what)
    }
}

fn index(first: u64, number: u64) -> usize {
    usize::try_from(number - first).expect("the queue is in memory")
}
