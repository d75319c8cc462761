//! What is out with instances, and until when: an instance that takes a batch has until the acknowledgement deadline to acknowledge its
//! events, and may renew that.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    batch::{Batch, Run},
    lanes::LaneId,
};
use crate::{id::InstanceId, log::Position};

/// A batch that is out with the instance that had it last.
#[derive(Clone, Debug)]
pub(super) struct BatchLease {
    pub(super) batch: Batch,
    /// The lane that the instance holds meanwhile.
    pub(super) lane: LaneId,
    until: Instant,
}

impl BatchLease {
    /// Whether it is with this instance.
    pub(super) fn is_with(&self, instance: &InstanceId) -> bool {
        self.batch.last.as_ref() == Some(instance)
    }
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Leases {
    ack_deadline: Duration,
    /// By the position of the last event.
    leases: BTreeMap<Position, BatchLease>,
    ends: BTreeSet<(Instant, Position)>,
    events: usize,
}

impl Leases {
    pub(super) fn new(ack_deadline: Duration) -> Self {
        Self {
            ack_deadline,
            leases: BTreeMap::new(),
            ends: BTreeSet::new(),
            events: 0,
        }
    }

    /// The deadline of an acknowledgement.
    fn deadline(&self, now: Instant) -> Instant {
        now + self.ack_deadline
    }

    /// An instance has a batch of the log.
    pub(super) fn insert(&mut self, batch: Batch, lane: LaneId, now: Instant) {
        self.insert_until(batch, lane, self.deadline(now));
    }

    /// The same until a time.
    pub(super) fn insert_until(&mut self, batch: Batch, lane: LaneId, until: Instant) {
        if let Some(last) = batch.last_position() {
            self.events += batch.len();
            self.ends.insert((until, last));
            let lease = BatchLease { batch, lane, until };
            self.leases.insert(last, lease);
        }
    }

    /// Some events that are out together: the beginning of `positions` as far as they are.
    pub(super) fn find(&self, positions: &[Position]) -> Option<(Run, &BatchLease)> {
        let (_, lease) = self.leases.range(*positions.first()?..).next()?;
        Some((lease.batch.find(positions)?, lease))
    }

    /// Ends the lease on some events.
    pub(super) fn remove(&mut self, run: &Run) -> Option<BatchLease> {
        let lease = self.leases.get_mut(&run.batch)?;
        self.events -= run.range.len();
        let (lane, until) = (lease.lane, lease.until);
        let end = run.range.end == lease.batch.len();
        let (before, batch) = lease.batch.cut(run.range.clone());
        if end {
            self.leases.remove(&run.batch);
            self.ends.remove(&(until, run.batch));
        }
        if let Some(before) = before {
            self.events -= before.len();
            self.insert_until(before, lane, until);
        }
        Some(BatchLease { batch, lane, until })
    }

    /// The instance is still at work on some events.
    pub(super) fn renew(&mut self, run: &Run, now: Instant) {
        if let Some(BatchLease { batch, lane, .. }) = self.remove(run) {
            self.insert(batch, lane, now);
        }
    }

    /// The batches that an instance has, in the order of the log.
    pub(super) fn of(&self, instance: &InstanceId) -> Vec<Batch> {
        let its = self.leases.values().filter(|l| l.is_with(instance));
        its.map(|l| l.batch.clone()).collect()
    }

    /// A batch whose lease has run out.
    pub(super) fn over(&self, now: Instant) -> Option<Run> {
        let (until, last) = self.ends.first()?;
        let over = (*until <= now).then(|| self.leases.get(last))??;
        over.batch.whole()
    }

    /// When the next one runs out.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(until, _)| *until)
    }

    /// How many events are out.
    pub(super) fn events(&self) -> usize {
        self.events
    }

    /// What is out, in the order of the log.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Batch> {
        self.leases.values().map(|lease| &lease.batch)
    }

    /// The batches that have events between two positions, in the order of the log.
    pub(super) fn between(&self, first: Position, last: Position) -> impl Iterator<Item = &Batch> {
        let from = self.leases.range(first..).map(|(_, lease)| &lease.batch);
        from.take_while(move |batch| batch.begins_by(last))
    }
}
