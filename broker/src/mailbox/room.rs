//! Waiting room of a mailbox: waiting mail, in its lane or delayed, with its expiry.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use tokio::time::Instant;

use super::{
    batch::{Batch, Cut, Run},
    lanes::{LaneId, Lanes, Taken},
};
use crate::{
    id::{InstanceId, Version},
    log::Position,
};

/// Place of a batch, with the serial number of its last event.
#[derive(Clone, Copy, Debug)]
enum Place {
    Lane(LaneId, u64),
    /// Delayed until that time.
    Later(Instant, u64),
}

/// The waiting room, see the module.
#[derive(Debug, Default)]
pub(super) struct Room {
    lanes: Lanes,
    later: BTreeMap<(Instant, u64), Batch>,
    /// All logged batches, by the position of the last event.
    places: BTreeMap<Position, Place>,
    /// Expiry of each of them.
    expiries: BTreeSet<(Instant, Position)>,
    /// Number of unlogged events.
    unlogged: usize,
}

impl Room {
    /// See [`Lanes::set_ordered`].
    pub(super) fn set_ordered(&mut self, ordered: bool) {
        self.lanes.set_ordered(ordered);
    }

    /// Inserts a batch into its lane.
    pub(super) fn insert(&mut self, batch: Batch) {
        let (last, expires) = (batch.last_position(), batch.expires());
        let (serial, events) = (batch.rank().serial, batch.len());
        let lane = self.lanes.insert(batch);
        self.place(last, expires, events, Place::Lane(lane, serial));
    }

    /// Delays a batch.
    pub(super) fn delay(&mut self, batch: Batch, until: Instant) {
        if batch.attempts > 0 {
            self.lanes.expect(batch.lane(), batch.len());
        }
        let at = (until, batch.rank().serial);
        let place = Place::Later(at.0, at.1);
        self.place(batch.last_position(), batch.expires(), batch.len(), place);
        self.later.insert(at, batch);
    }

    /// See [`Lanes::take`].
    pub(super) fn take(
        &mut self,
        instance: &InstanceId,
        version: Option<&Version>,
        count: usize,
    ) -> Option<Taken> {
        let taken = self.lanes.take(instance, version, count)?;
        self.unplace(&taken.cut.batch, taken.cut.end);
        Some(taken)
    }

    /// The batch that has waited longest.
    pub(super) fn oldest(&self) -> Option<&Batch> {
        self.at(self.oldest_place()?)
    }

    /// Removes the event that has waited longest.
    pub(super) fn pop_oldest(&mut self) -> Option<Batch> {
        self.cut(self.oldest_place()?, 0..1)
    }

    fn oldest_place(&self) -> Option<Place> {
        match self.lanes.oldest() {
            Some((lane, serial)) => Some(Place::Lane(lane, serial)),
            None => {
                let (until, serial) = *self.later.first_key_value()?.0;
                Some(Place::Later(until, serial))
            }
        }
    }

    /// The longest prefix of `positions` that is consecutive in a waiting batch.
    pub(super) fn find(&self, positions: &[Position]) -> Option<Run> {
        let (_, place) = self.places.range(*positions.first()?..).next()?;
        self.at(*place)?.find(positions)
    }

    /// Removes some events.
    pub(super) fn remove(&mut self, run: &Run) -> Option<Batch> {
        let place = *self.places.get(&run.batch)?;
        self.cut(place, run.range.clone())
    }

    /// The batch of some events.
    pub(super) fn get(&self, run: &Run) -> Option<&Batch> {
        self.at(*self.places.get(&run.batch)?)
    }

    /// See [`Lanes::hold`].
    pub(super) fn hold(&mut self, batch: &Batch, instance: &InstanceId) -> LaneId {
        self.lanes.hold(batch.lane(), instance, batch.len())
    }

    /// See [`Lanes::release`].
    pub(super) fn release(&mut self, lane: LaneId, events: usize) {
        self.lanes.release(lane, events);
    }

    /// Moves the next due batch into its lane, if there is one.
    pub(super) fn bring_next(&mut self, now: Instant) -> bool {
        let first = self.later.first_key_value().map(|(at, _)| *at);
        let due = first.filter(|(until, _)| *until <= now);
        let batch = due.and_then(|(until, serial)| self.pop(Place::Later(until, serial)));
        batch.map(|batch| self.insert(batch)).is_some()
    }

    /// Removes an expired batch.
    pub(super) fn pop_expired(&mut self, now: Instant) -> Option<Batch> {
        let (expires, last) = *self.expiries.first()?;
        let place = *self.places.get(&last)?;
        (expires <= now).then(|| self.pop(place))?
    }

    /// Time when the next batch is [due](Self::bring_next) or expires.
    pub(super) fn next(&self) -> Option<Instant> {
        let later = self.later.first_key_value().map(|((at, _), _)| *at);
        let expiry = self.expiries.first().map(|(at, _)| *at);
        later.into_iter().chain(expiry).min()
    }

    /// All waiting batches, delayed ones included.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Batch> {
        self.lanes.iter().chain(self.later.values())
    }

    /// Drops the bodies of some batches; the log has them.
    pub(super) fn shed(&mut self, batches: usize) {
        let all = self.lanes.iter_mut().chain(self.later.values_mut());
        all.take(batches).for_each(Batch::shed);
    }

    /// Logged batches in log order.
    pub(super) fn logged(&self) -> impl Iterator<Item = &Batch> {
        self.places.values().filter_map(|place| self.at(*place))
    }

    /// Batches with events between two positions, in log order.
    pub(super) fn between(&self, first: Position, last: Position) -> impl Iterator<Item = &Batch> {
        let from = self.places.range(first..);
        let from = from.filter_map(|(_, place)| self.at(*place));
        from.take_while(move |batch| batch.begins_by(last))
    }

    /// Unlogged batches, in no order.
    pub(super) fn unlogged(&self) -> impl Iterator<Item = &Batch> {
        let all = (self.unlogged > 0).then(|| self.iter());
        all.into_iter()
            .flatten()
            .filter(|b| b.positions().is_empty())
    }

    fn at(&self, place: Place) -> Option<&Batch> {
        match place {
            Place::Lane(lane, serial) => self.lanes.get(lane, serial),
            Place::Later(until, serial) => self.later.get(&(until, serial)),
        }
    }

    fn pop(&mut self, place: Place) -> Option<Batch> {
        let events = self.at(place)?.len();
        self.cut(place, 0..events)
    }

    /// Cuts events out of a batch.
    fn cut(&mut self, place: Place, range: Range<usize>) -> Option<Batch> {
        let Cut { batch, before, end } = match place {
            Place::Lane(lane, serial) => self.lanes.cut(lane, serial, range)?,
            Place::Later(until, serial) => {
                let key = |batch: &Batch| (until, batch.rank().serial);
                let cut = Cut::of(&mut self.later, (until, serial), key, range)?;
                if cut.batch.attempts > 0 {
                    let events = cut.batch.len();
                    self.lanes.expect_no_more(&cut.batch.lane(), events);
                }
                cut
            }
        };
        self.unplace(&batch, end);
        if let Some((last, serial)) = before {
            let place = match place {
                Place::Lane(lane, _) => Place::Lane(lane, serial),
                Place::Later(until, _) => Place::Later(until, serial),
            };
            self.places.insert(last, place);
            self.expiries.insert((batch.expires(), last));
        }
        Some(batch)
    }

    fn place(&mut self, last: Option<Position>, expires: Instant, events: usize, place: Place) {
        match last {
            Some(last) => {
                self.places.insert(last, place);
                self.expiries.insert((expires, last));
            }
            None => self.unlogged += events,
        }
    }

    /// Removes events from the index. If they were the end of a batch, its key changes.
    fn unplace(&mut self, batch: &Batch, end: bool) {
        match batch.last_position() {
            Some(last) if end => {
                self.places.remove(&last);
                self.expiries.remove(&(batch.expires(), last));
            }
            Some(_) => {}
            None => self.unlogged -= batch.len(),
        }
    }
}
