//! The waiting room of a mailbox: mail that is not out, in its lane or until its time, and when it has waited too long.
//!
//! Mail that came together needs no lane as long as nothing else is there: it passes through in parcels, in the order in which it came,
//! which is also that of its ranks. When anything comes for which that is not so, all of it goes into its lanes first, piece by piece.

use std::collections::{BTreeMap, VecDeque};

use tokio::time::Instant;

use super::{
    Mail,
    deadlines::Deadlines,
    lanes::{LaneKey, Lanes},
    parcel::Parcel,
    waiting::Waiting,
};
use crate::{
    id::{InstanceId, Version},
    log::Position,
    table::Table,
};

/// Where mail is.
#[derive(Clone, Debug)]
enum Place {
    Lane(LaneKey),
    /// It comes to its lane at that time.
    Later((Instant, u64)),
}

/// Where mail is that is in the log, and until when.
#[derive(Clone, Debug)]
struct Placed {
    place: Place,
    expires: Instant,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Room {
    lanes: Lanes,
    /// Parcels that may be lost. While there are parcels, the lanes are idle.
    passing: VecDeque<Parcel>,
    /// Parcels that are in the log, in its order.
    kept: VecDeque<Parcel>,
    later: BTreeMap<(Instant, u64), Waiting>,
    /// All mail that is in the log, but for what passes.
    places: Table<Position, Placed>,
    /// When that is given up.
    expiries: Deadlines,
}

impl Room {
    /// See [`Lanes::set_ordered`].
    pub(super) fn set_ordered(&mut self, ordered: bool) {
        self.stop_passing();
        self.lanes.set_ordered(ordered);
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.lanes.is_ordered()
    }

    /// Puts mail into its lane.
    pub(super) fn insert(&mut self, waiting: Waiting) {
        self.stop_passing();
        self.place(&waiting, Place::Lane(waiting.lane()));
        self.lanes.insert(waiting);
    }

    /// Lets mail pass that [may](Self::may_pass).
    pub(super) fn pass(&mut self, mut parcel: Parcel) {
        let queue = match parcel.is_logged() {
            true => &mut self.kept,
            false => &mut self.passing,
        };
        if let Some(last) = queue.back() {
            parcel.share(last);
        }
        queue.push_back(parcel);
    }

    /// Puts all that passes into its lanes.
    fn stop_passing(&mut self) {
        // In their turn, so that each comes behind what is in its lane.
        while let Some(parcel) = self.pop_passing(usize::MAX) {
            for waiting in parcel.each() {
                self.place(&waiting, Place::Lane(waiting.lane()));
                self.lanes.insert(waiting);
            }
        }
    }

    /// Whether mail is next in turn after all that passes, whoever asks.
    pub(super) fn may_pass(&self, parcel: &Parcel) -> bool {
        let mut last = self.passing.back().into_iter().chain(self.kept.back());
        let is_ordered = parcel.is_logged() && self.lanes.is_ordered();
        !(is_ordered || parcel.is_versioned() || parcel.is_delayed())
            && self.lanes.is_idle()
            && last.all(|last| last.rank() < parcel.rank())
    }

    /// Takes out what passes first, at most so many pieces of it.
    pub(super) fn pop_passing(&mut self, count: usize) -> Option<Parcel> {
        let queues = [&mut self.passing, &mut self.kept].into_iter();
        let queue = queues
            .filter(|queue| !queue.is_empty())
            .min_by_key(|queue| queue.front().map(Parcel::rank))?;
        let (parcel, rest) = queue.pop_front()?.split(count);
        if let Some(rest) = rest {
            queue.push_front(rest);
        }
        Some(parcel)
    }

    /// What passes and may be lost, piece by piece.
    pub(super) fn passing(&self) -> impl Iterator<Item = Mail> {
        self.passing.iter().flat_map(|p| p.each().map(|w| w.mail))
    }

    /// What passes and is in the log, piece by piece.
    pub(super) fn kept(&self) -> impl Iterator<Item = Waiting> {
        self.kept.iter().flat_map(Parcel::each)
    }

    /// Whether nothing waits for whoever comes, and nothing that is out belongs to a lane.
    pub(super) fn is_idle(&self) -> bool {
        self.passing.is_empty() && self.kept.is_empty() && self.lanes.is_idle()
    }

    /// Keeps mail until it may be delivered.
    pub(super) fn delay(&mut self, waiting: Waiting, until: Instant) {
        let at = (until, waiting.rank.serial);
        self.place(&waiting, Place::Later(at));
        if waiting.attempts > 0 {
            self.stop_passing();
            self.lanes.expect(&waiting.lane());
        }
        self.later.insert(at, waiting);
    }

    /// Takes out what is first in turn for an instance.
    pub(super) fn pop_for(
        &mut self,
        instance: &InstanceId,
        version: Option<&Version>,
    ) -> Option<Waiting> {
        if let Some(parcel) = self.pop_passing(1) {
            return Some(parcel.first());
        }
        let waiting = self.lanes.pop_for(instance, version)?;
        self.unplace(&waiting);
        Some(waiting)
    }

    /// Takes out what has waited longest.
    pub(super) fn pop_oldest(&mut self) -> Option<Waiting> {
        if let Some(parcel) = self.pop_passing(1) {
            return Some(parcel.first());
        }
        let waiting = match self.lanes.pop_oldest() {
            Some(waiting) => waiting,
            None => {
                let at = *self.later.first_key_value()?.0;
                self.pop_later(at)?
            }
        };
        self.unplace(&waiting);
        Some(waiting)
    }

    /// Takes out one piece of mail.
    pub(super) fn remove(&mut self, position: Position) -> Option<Waiting> {
        if self.passes(position) {
            self.stop_passing();
        }
        let waiting = match self.places.get(&position)?.place.clone() {
            Place::Lane(key) => self.lanes.remove(&key, position),
            Place::Later(at) => self.pop_later(at),
        }?;
        self.unplace(&waiting);
        Some(waiting)
    }

    /// One piece of mail that does not pass. Takes as long as its lane is.
    pub(super) fn get(&self, position: Position) -> Option<&Waiting> {
        match &self.places.get(&position)?.place {
            Place::Lane(key) => self.lanes.get(key, position),
            Place::Later(at) => self.later.get(at),
        }
    }

    /// An instance has one more delivery of a lane.
    pub(super) fn hold(&mut self, key: &LaneKey, instance: &InstanceId) {
        self.stop_passing();
        self.lanes.hold(key, instance);
    }

    /// An instance has one delivery of a lane less.
    pub(super) fn release(&mut self, key: &LaneKey) {
        self.lanes.release(key);
    }

    /// Puts into their lanes what may be delivered from here on, and what passes once it has waited too long.
    pub(super) fn bring(&mut self, now: Instant) {
        if self.kept.front().is_some_and(|p| p.expires() <= now) {
            self.stop_passing();
        }
        while let Some((at, _)) = self.later.first_key_value().filter(|(at, _)| at.0 <= now) {
            let at = *at;
            if let Some(waiting) = self.pop_later(at) {
                self.insert(waiting);
            }
        }
    }

    /// Takes out something that has waited too long.
    pub(super) fn pop_expired(&mut self, now: Instant) -> Option<Waiting> {
        let (expires, position) = self.expiries.first()?;
        (expires <= now).then(|| self.remove(position)).flatten()
    }

    /// When there is something to [bring](Self::bring), or something has waited too long.
    pub(super) fn next(&self) -> Option<Instant> {
        let later = self.later.first_key_value().map(|((at, _), _)| *at);
        let expiry = self.expiries.first().map(|(at, _)| at);
        let kept = self.kept.front().map(Parcel::expires);
        later.into_iter().chain(expiry).chain(kept).min()
    }

    pub(super) fn holds(&self, position: Position) -> bool {
        self.passes(position) || self.places.contains_key(&position)
    }

    /// Whether a piece of mail is in a parcel.
    fn passes(&self, position: Position) -> bool {
        let is_before = |parcel: &Parcel| parcel.positions().last() < Some(&position);
        let parcel = self.kept.get(self.kept.partition_point(is_before));
        parcel.is_some_and(|parcel| parcel.find(position).is_some())
    }

    /// All that is in a lane, or will be.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.lanes.iter().chain(self.later.values())
    }

    fn pop_later(&mut self, at: (Instant, u64)) -> Option<Waiting> {
        let waiting = self.later.remove(&at)?;
        if waiting.attempts > 0 {
            self.lanes.expect_no_more(&waiting.lane());
        }
        Some(waiting)
    }

    fn place(&mut self, waiting: &Waiting, place: Place) {
        if let Some(position) = waiting.mail.position {
            let expires = waiting.mail.timing.expires;
            self.places.insert(position, Placed { place, expires });
            self.expiries.insert(expires, position);
        }
    }

    fn unplace(&mut self, waiting: &Waiting) {
        if let Some(position) = waiting.mail.position {
            self.places.remove(&position);
            let places = &self.places;
            let holds = |expires, position: Position| {
                let placed = places.get(&position);
                placed.is_some_and(|p| p.expires == expires)
            };
            self.expiries.forget(position, places.len(), holds);
        }
    }
}
