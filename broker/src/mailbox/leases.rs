//! Leases of instances and their deadlines: an instance that takes a batch has until the acknowledgement deadline to
//! acknowledge its events, and may extend it. Lost leases are ended in portions.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
    time::Duration,
};

use tokio::time::Instant;

use super::{
    batch::{Batch, Run},
    lanes::LaneId,
    portion::Portion,
};
use crate::{id::InstanceId, log::Position, steps::step};

/// A batch leased to its last holder.
#[derive(Clone, Debug)]
pub(super) struct BatchLease {
    pub(super) batch: Batch,
    /// The lane reserved meanwhile.
    pub(super) lane: LaneId,
    until: Instant,
    /// Ascending number of the lease.
    number: u64,
}

/// Reason why an instance loses its leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The instance is gone.
    Gone,
    /// The instance has reconnected, and did not receive what it does not claim.
    NotReceived,
}

/// Leases that an instance loses, as far as not ended yet.
#[derive(Debug)]
struct Ending {
    instance: InstanceId,
    why: Leaving,
    /// Number below which leases end.
    before: u64,
    /// Position up to which they have ended.
    after: Position,
}

impl BatchLease {
    /// True if this instance holds it.
    pub(super) fn is_with(&self, instance: &InstanceId) -> bool {
        self.batch.last.as_ref() == Some(instance)
    }
}

/// The leases, see the module.
#[derive(Debug)]
pub(super) struct Leases {
    ack_deadline: Duration,
    /// By position of the last event.
    leases: BTreeMap<Position, BatchLease>,
    ends: BTreeSet<(Instant, Position)>,
    /// Leases to end, in order.
    endings: VecDeque<Ending>,
    events: usize,
    next_number: u64,
}

impl Leases {
    pub(super) fn new(ack_deadline: Duration) -> Self {
        Self {
            ack_deadline,
            leases: BTreeMap::new(),
            ends: BTreeSet::new(),
            endings: VecDeque::new(),
            events: 0,
            next_number: 0,
        }
    }

    /// Acknowledgement deadline of a lease that begins now.
    fn deadline(&self, now: Instant) -> Instant {
        now + self.ack_deadline
    }

    /// Adds a lease on a logged batch, whose attempts include this one.
    pub(super) fn insert(&mut self, batch: Batch, lane: LaneId, now: Instant) {
        self.insert_until(batch, lane, self.deadline(now));
    }

    /// The same with another deadline, as after a start of the hub.
    pub(super) fn insert_until(&mut self, batch: Batch, lane: LaneId, until: Instant) {
        let number = self.next_number;
        self.next_number += 1;
        self.put(BatchLease {
            batch,
            lane,
            until,
            number,
        });
    }

    fn put(&mut self, lease: BatchLease) {
        step();
        if let Some(last) = lease.batch.last_position() {
            self.events += lease.batch.len();
            self.ends.insert((lease.until, last));
            self.leases.insert(last, lease);
        }
    }

    /// The longest prefix of `positions` that one lease holds.
    pub(super) fn find(&self, positions: &[Position]) -> Option<(Run, &BatchLease)> {
        let (_, lease) = self.leases.range(*positions.first()?..).next()?;
        Some((lease.batch.find(positions)?, lease))
    }

    /// The lease on some events.
    pub(super) fn get(&self, run: &Run) -> Option<&BatchLease> {
        self.leases.get(&run.batch)
    }

    /// Ends the lease on some events.
    pub(super) fn remove(&mut self, run: &Run) -> Option<BatchLease> {
        step();
        let lease = self.leases.get_mut(&run.batch)?;
        self.events -= run.range.len();
        let (lane, until, number) = (lease.lane, lease.until, lease.number);
        let part = |batch| BatchLease {
            batch,
            lane,
            until,
            number,
        };
        let end = run.range.end == lease.batch.len();
        let (before, cut) = lease.batch.cut(run.range.clone());
        if end {
            self.leases.remove(&run.batch);
            self.ends.remove(&(until, run.batch));
        }
        if let Some(before) = before {
            self.events -= before.len();
            self.put(part(before));
        }
        Some(part(cut))
    }

    /// Ends the first lease in log order.
    pub(super) fn pop(&mut self) -> Option<BatchLease> {
        let (_, lease) = self.leases.first_key_value()?;
        let run = lease.batch.whole()?;
        self.remove(&run)
    }

    /// Extends the lease on some events.
    pub(super) fn extend(&mut self, run: &Run, now: Instant) {
        if let Some(BatchLease { batch, lane, .. }) = self.remove(run) {
            self.insert(batch, lane, now);
        }
    }

    /// Number of the next lease.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Ends the instance's leases with a number below `before`, one [after the other](Self::next_to_end).
    pub(super) fn end(&mut self, instance: &InstanceId, why: Leaving, before: u64) {
        self.endings.push_back(Ending {
            instance: instance.clone(),
            why,
            before,
            after: Position(0),
        });
    }

    /// The next lease to end. `None` if there is none, or the portion is used up.
    pub(super) fn next_to_end(&mut self, portion: &mut Portion) -> Option<(Run, Leaving)> {
        while let Some(Ending {
            instance,
            why,
            before,
            after,
        }) = self.endings.front_mut()
        {
            let rest = (Bound::Excluded(*after), Bound::Unbounded);
            for (last, lease) in self.leases.range(rest) {
                if portion.is_used_up() {
                    return None;
                }
                step();
                portion.look();
                *after = *last;
                if lease.is_with(instance) && lease.number < *before {
                    return Some((lease.batch.whole()?, *why));
                }
            }
            self.endings.pop_front();
        }
        None
    }

    /// True if there are leases to [end](Self::end).
    pub(super) fn has_endings(&self) -> bool {
        !self.endings.is_empty()
    }

    /// A batch whose lease has expired.
    pub(super) fn over(&self, now: Instant) -> Option<Run> {
        let (until, last) = self.ends.first()?;
        let over = (*until <= now).then(|| self.leases.get(last))??;
        over.batch.whole()
    }

    /// Time of the next expiry.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(until, _)| *until)
    }

    /// Number of leased events.
    pub(super) fn events(&self) -> usize {
        self.events
    }

    /// Leased batches in log order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Batch> {
        self.leases.values().map(|lease| &lease.batch)
    }

    /// Batches with events between two positions, in log order.
    pub(super) fn between(&self, first: Position, last: Position) -> impl Iterator<Item = &Batch> {
        let from = self.leases.range(first..).map(|(_, lease)| &lease.batch);
        from.take_while(move |batch| batch.begins_by(last))
    }
}
