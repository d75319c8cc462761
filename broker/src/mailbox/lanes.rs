//! Lanes of a mailbox: waiting batches by order key and version, and an index of the lanes' heads.

use std::{collections::BTreeMap, ops::Range};

use super::batch::{Batch, Cut, Rank};
use crate::{
    id::{InstanceId, OrderKey, Version},
    steps::step,
    table::Table,
};

/// Key of a lane: order key and version.
pub(super) type LaneKey = (OrderKey, Option<Version>);

/// Id of a lane, while mail of it waits, is leased or is delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LaneId(u64);

#[derive(Debug)]
struct Lane {
    key: LaneKey,
    /// The instance with leases in this lane, and their number of events.
    holder: Option<(InstanceId, usize)>,
    /// Delayed events that will return.
    returning: usize,
    /// Entry in the indexes of heads; `None` if nothing waits.
    head: Option<Head>,
}

/// Position of a lane's head among those of other lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    rank: Rank,
    turn: Turn,
}

/// Instances that may take the head of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Turn {
    /// Any instance of the version.
    Free,
    /// The holder of the lane.
    Held(InstanceId),
    /// None: in an ordered mailbox an event of the lane is leased or delayed.
    Nobody,
}

impl Lane {
    fn is_idle(&self) -> bool {
        self.head.is_none() && self.holder.is_none() && self.returning == 0
    }

    /// The instances that may take its head.
    fn turn(&self, is_ordered: bool) -> Turn {
        match &self.holder {
            None if is_ordered && self.returning > 0 => Turn::Nobody,
            Some(_) if is_ordered => Turn::Nobody,
            Some((instance, _)) => Turn::Held(instance.clone()),
            None => Turn::Free,
        }
    }

    fn hold(&mut self, instance: &InstanceId, events: usize) {
        match &mut self.holder {
            Some((_, held)) => *held += events,
            none => *none = Some((instance.clone(), events)),
        }
    }
}

/// The lanes, see the module.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// True if a lane's head waits until no event of that lane is leased or delayed.
    ordered: bool,
    lanes: Table<LaneId, Lane>,
    ids: Table<LaneKey, LaneId>,
    next: u64,
    /// Waiting batches, by lane and the serial number of their last event.
    waiting: BTreeMap<(LaneId, u64), Batch>,
    /// Heads of lanes that any instance may take.
    free: BTreeMap<Rank, LaneId>,
    /// Heads of lanes that any instance of a version may take.
    of_version: Table<Version, BTreeMap<Rank, LaneId>>,
    /// Heads of lanes that are reserved for an instance.
    held: Table<InstanceId, BTreeMap<Rank, LaneId>>,
    /// Heads of all lanes, oldest first.
    oldest: BTreeMap<u64, LaneId>,
}

impl Lanes {
    /// Sets whether the head of a lane waits for the acknowledgement of earlier events.
    pub(super) fn set_ordered(&mut self, ordered: bool) {
        if self.ordered == ordered {
            return;
        }
        self.ordered = ordered;
        let ids: Vec<LaneId> = self.lanes.keys().copied().collect();
        ids.into_iter().for_each(|id| self.settle(id));
    }

    /// Takes the beginning of the next batch for an instance, at most `limit` events. Logged events reserve the lane
    /// for the instance.
    pub(super) fn take(
        &mut self,
        instance: &InstanceId,
        version: Option<&Version>,
        count: usize,
    ) -> Option<Taken> {
        let (_, id) = [
            Some(&self.free),
            version.and_then(|v| self.of_version.get(v)),
            self.held.get(instance),
        ]
        .into_iter()
        .flatten()
        .filter_map(BTreeMap::first_key_value)
        .min_by_key(|(rank, _)| **rank)?;
        let lane = *id;
        let head = (lane, self.lanes.get(&lane)?.head.as_ref()?.rank.serial);
        let batch = self.waiting.get(&head)?;
        let is_logged = !batch.positions().is_empty();
        let count = match is_logged && self.ordered {
            true => 1,
            false => count.clamp(1, batch.len()),
        };
        let key = |batch: &Batch| (lane, batch.rank().serial);
        let cut = Cut::of(&mut self.waiting, head, key, 0..count)?;
        if let Some(lane) = self.lanes.get_mut(&lane).filter(|_| is_logged) {
            lane.hold(instance, count);
        }
        self.settle(lane);
        Some(Taken { cut, lane })
    }

    /// Lane and serial number of the head that has waited longest.
    pub(super) fn oldest(&self) -> Option<(LaneId, u64)> {
        let (_, lane) = self.oldest.first_key_value()?;
        let head = self.lanes.get(lane)?.head.as_ref()?;
        Some((*lane, head.rank.serial))
    }

    /// Inserts a batch into its lane, in order of arrival.
    pub(super) fn insert(&mut self, batch: Batch) -> LaneId {
        let id = self.open(batch.lane());
        self.waiting.insert((id, batch.rank().serial), batch);
        self.settle(id);
        id
    }

    /// A waiting batch.
    pub(super) fn get(&self, lane: LaneId, serial: u64) -> Option<&Batch> {
        self.waiting.get(&(lane, serial))
    }

    /// Cuts events out of a batch.
    pub(super) fn cut(&mut self, lane: LaneId, serial: u64, range: Range<usize>) -> Option<Cut> {
        let key = |batch: &Batch| (lane, batch.rank().serial);
        let cut = Cut::of(&mut self.waiting, (lane, serial), key, range)?;
        self.settle(lane);
        Some(cut)
    }

    /// Counts leased events of a lane; creates the lane if needed.
    pub(super) fn hold(&mut self, key: LaneKey, instance: &InstanceId, events: usize) -> LaneId {
        let id = self.open(key);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.hold(instance, events);
        }
        self.settle(id);
        id
    }

    /// Uncounts leased events of a lane.
    pub(super) fn release(&mut self, id: LaneId, events: usize) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            match &mut lane.holder {
                Some((_, held)) if *held > events => *held -= events,
                holder => *holder = None,
            }
            self.settle(id);
        }
    }

    /// Counts delayed events of a lane.
    pub(super) fn expect(&mut self, key: LaneKey, events: usize) {
        let id = self.open(key);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.returning += events;
        }
        self.settle(id);
    }

    /// Uncounts [expected](Self::expect) events that have returned or will not.
    pub(super) fn expect_no_more(&mut self, key: &LaneKey, events: usize) {
        if let Some(id) = self.ids.get(key).copied()
            && let Some(lane) = self.lanes.get_mut(&id)
        {
            lane.returning = lane.returning.saturating_sub(events);
            self.settle(id);
        }
    }

    /// All waiting batches.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Batch> {
        self.waiting.values()
    }

    /// The same, for changes that do not affect a batch's place.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Batch> {
        self.waiting.values_mut()
    }

    /// The lane with that key, created if missing.
    fn open(&mut self, key: LaneKey) -> LaneId {
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        self.next += 1;
        let id = LaneId(self.next);
        let lane = Lane {
            key: key.clone(),
            holder: None,
            returning: 0,
            head: None,
        };
        self.ids.insert(key, id);
        self.lanes.insert(id, lane);
        id
    }

    /// Updates the indexes of heads after a change of a lane. Removes an idle lane.
    fn settle(&mut self, id: LaneId) {
        step();
        let Some(lane) = self.lanes.get_mut(&id) else {
            return;
        };
        let first = self.waiting.range((id, 0)..).next();
        let first = first.filter(|((lane, _), _)| *lane == id);
        let head = first.map(|(_, batch)| Head {
            rank: batch.rank(),
            turn: lane.turn(self.ordered),
        });
        if head != lane.head {
            let before = std::mem::replace(&mut lane.head, head.clone());
            let version = lane.key.1.clone();
            if let Some(Head { rank, turn }) = before {
                self.oldest.remove(&rank.serial);
                self.remove_head(&turn, version.as_ref(), rank);
            }
            if let Some(Head { rank, turn }) = head {
                self.oldest.insert(rank.serial, id);
                self.insert_head(turn, version, rank, id);
            }
        }
        if self.lanes.get(&id).is_some_and(Lane::is_idle)
            && let Some(lane) = self.lanes.remove(&id)
        {
            self.ids.remove(&lane.key);
        }
    }

    fn insert_head(&mut self, turn: Turn, version: Option<Version>, rank: Rank, id: LaneId) {
        let heads = match (turn, version) {
            (Turn::Nobody, _) => return,
            (Turn::Held(instance), _) => self.held.entry(instance).or_default(),
            (Turn::Free, Some(version)) => self.of_version.entry(version).or_default(),
            (Turn::Free, None) => &mut self.free,
        };
        heads.insert(rank, id);
    }

    fn remove_head(&mut self, turn: &Turn, version: Option<&Version>, rank: Rank) {
        match (turn, version) {
            (Turn::Nobody, _) => {}
            (Turn::Held(instance), _) => remove_from(&mut self.held, instance, rank),
            (Turn::Free, Some(version)) => remove_from(&mut self.of_version, version, rank),
            (Turn::Free, None) => {
                self.free.remove(&rank);
            }
        }
    }
}

/// Events taken from their lane.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) cut: Cut,
    pub(super) lane: LaneId,
}

fn remove_from<K: Eq + std::hash::Hash>(
    heads: &mut Table<K, BTreeMap<Rank, LaneId>>,
    key: &K,
    rank: Rank,
) {
    if let Some(of_key) = heads.get_mut(key) {
        of_key.remove(&rank);
        if of_key.is_empty() {
            heads.remove(key);
        }
    }
}
