//! What is out with instances, and until when: an instance that takes a batch has until the acknowledgement deadline to acknowledge its
//! events, and may extend that. What instances lose is brought back in portions.

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

/// A batch that is out with the instance that had it last.
#[derive(Clone, Debug)]
pub(super) struct BatchLease {
    pub(super) batch: Batch,
    /// The lane that the instance holds meanwhile.
    pub(super) lane: LaneId,
    until: Instant,
    /// Rises from lease to lease.
    number: u64,
}

/// Why an instance loses what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It is gone.
    Gone,
    /// It is back, and what it does not claim did not reach it.
    NotReceived,
}

/// The leases that an instance loses, as far as they are not ended yet.
#[derive(Debug)]
struct Ending {
    instance: InstanceId,
    why: Leaving,
    /// Those with a number below this.
    before: u64,
    /// Those up to this position are ended.
    after: Position,
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
    /// What instances lose, the first first.
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

    /// The deadline of an acknowledgement.
    fn deadline(&self, now: Instant) -> Instant {
        now + self.ack_deadline
    }

    /// An instance has a batch of the log, whose attempts count this one.
    pub(super) fn insert(&mut self, batch: Batch, lane: LaneId, now: Instant) {
        self.insert_until(batch, lane, self.deadline(now));
    }

    /// The same until a time that is not the acknowledgement deadline, as after a start of the hub.
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

    /// Some events that are out together: the beginning of `positions` as far as they are.
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

    /// Ends the first lease, in the order of the log.
    pub(super) fn pop(&mut self) -> Option<BatchLease> {
        let (_, lease) = self.leases.first_key_value()?;
        let run = lease.batch.whole()?;
        self.remove(&run)
    }

    /// The instance is still at work on some events.
    pub(super) fn extend(&mut self, run: &Run, now: Instant) {
        if let Some(BatchLease { batch, lane, .. }) = self.remove(run) {
            self.insert(batch, lane, now);
        }
    }

    /// The number that the next lease will have.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// An instance loses the leases with a number below `before`, one [after the other](Self::next_to_end).
    pub(super) fn end(&mut self, instance: &InstanceId, why: Leaving, before: u64) {
        self.endings.push_back(Ending {
            instance: instance.clone(),
            why,
            before,
            after: Position(0),
        });
    }

    /// The next batch that an instance loses. None is found when there is none, or the portion is used up.
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

    /// Whether instances still [lose](Self::end) something.
    pub(super) fn has_endings(&self) -> bool {
        !self.endings.is_empty()
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
