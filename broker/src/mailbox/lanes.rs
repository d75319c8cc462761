//! The lanes of a mailbox: batches that wait, by order key and version, and the head of each among the heads of all.

use std::{collections::BTreeMap, ops::Range};

use super::batch::{Batch, Cut, Rank};
use crate::{
    id::{InstanceId, OrderKey, Version},
    steps::step,
    table::Table,
};

/// A lane is mail with one order key for one version.
pub(super) type LaneKey = (OrderKey, Option<Version>);

/// A lane for as long as something waits, is out or comes back there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LaneId(u64);

#[derive(Debug)]
struct Lane {
    key: LaneKey,
    /// The instance with deliveries of this lane, and how many.
    holder: Option<(InstanceId, usize)>,
    /// Events that were out and come back later.
    returning: usize,
    /// The entry of its head in the indexes of heads; `None` if nothing waits.
    head: Option<Head>,
}

/// The place of a lane's head among those of other lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    rank: Rank,
    turn: Turn,
}

/// Who may have the head of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Turn {
    /// Any instance of the version.
    Free,
    /// The one that has deliveries of the lane.
    Held(InstanceId),
    /// Nobody: in an ordered mailbox something of the lane is out or comes back.
    Nobody,
}

impl Lane {
    fn is_idle(&self) -> bool {
        self.head.is_none() && self.holder.is_none() && self.returning == 0
    }

    /// Whose turn its head is.
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

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The head of a lane waits until nothing of that lane is out or comes back.
    ordered: bool,
    lanes: Table<LaneId, Lane>,
    ids: Table<LaneKey, LaneId>,
    next: u64,
    /// What waits, by lane and the serial number of a batch's last event.
    waiting: BTreeMap<(LaneId, u64), Batch>,
    /// The heads of the lanes that any instance may have.
    free: BTreeMap<Rank, LaneId>,
    /// The heads of the lanes that any instance of a version may have.
    of_version: Table<Version, BTreeMap<Rank, LaneId>>,
    /// The heads of the lanes that belong to an instance.
    held: Table<InstanceId, BTreeMap<Rank, LaneId>>,
    /// The heads of all lanes, oldest first.
    oldest: BTreeMap<u64, LaneId>,
}

impl Lanes {
    /// Whether the head of a lane waits for the acknowledgement of what went before it.
    pub(super) fn set_ordered(&mut self, ordered: bool) {
        if self.ordered == ordered {
            return;
        }
        self.ordered = ordered;
        let ids: Vec<LaneId> = self.lanes.keys().copied().collect();
        ids.into_iter().for_each(|id| self.settle(id));
    }

    /// Takes out the beginning of the batch that is first in turn for an instance, at most so many events. Unless these may be lost, the
    /// instance holds the lane.
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

    /// The lane and the place there of the head that has waited longest.
    pub(super) fn oldest(&self) -> Option<(LaneId, u64)> {
        let (_, lane) = self.oldest.first_key_value()?;
        let head = self.lanes.get(lane)?.head.as_ref()?;
        Some((*lane, head.rank.serial))
    }

    /// Puts a batch into its lane, in the order in which all came.
    pub(super) fn insert(&mut self, batch: Batch) -> LaneId {
        let id = self.open(batch.lane());
        self.waiting.insert((id, batch.rank().serial), batch);
        self.settle(id);
        id
    }

    /// One batch that waits.
    pub(super) fn get(&self, lane: LaneId, serial: u64) -> Option<&Batch> {
        self.waiting.get(&(lane, serial))
    }

    /// Takes some events out of a batch. The others stay where they are.
    pub(super) fn cut(&mut self, lane: LaneId, serial: u64, range: Range<usize>) -> Option<Cut> {
        let key = |batch: &Batch| (lane, batch.rank().serial);
        let cut = Cut::of(&mut self.waiting, (lane, serial), key, range)?;
        self.settle(lane);
        Some(cut)
    }

    /// An instance has more deliveries of a lane, which there is if something of it is out.
    pub(super) fn hold(&mut self, key: LaneKey, instance: &InstanceId, events: usize) -> LaneId {
        let id = self.open(key);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.hold(instance, events);
        }
        self.settle(id);
        id
    }

    /// An instance has fewer deliveries of a lane.
    pub(super) fn release(&mut self, id: LaneId, events: usize) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            match &mut lane.holder {
                Some((_, held)) if *held > events => *held -= events,
                holder => *holder = None,
            }
            self.settle(id);
        }
    }

    /// Events that were out come back to their lane later.
    pub(super) fn expect(&mut self, key: LaneKey, events: usize) {
        let id = self.open(key);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.returning += events;
        }
        self.settle(id);
    }

    /// Events that were [expected](Self::expect) are there, or come no more.
    pub(super) fn expect_no_more(&mut self, key: &LaneKey, events: usize) {
        if let Some(id) = self.ids.get(key).copied()
            && let Some(lane) = self.lanes.get_mut(&id)
        {
            lane.returning = lane.returning.saturating_sub(events);
            self.settle(id);
        }
    }

    /// All that waits in lanes.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Batch> {
        self.waiting.values()
    }

    /// The same, to be changed in what is no matter of its place.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Batch> {
        self.waiting.values_mut()
    }

    /// The lane with that key.
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

    /// Keeps the indexes of heads true after a lane has changed. A lane that is idle leaves.
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

/// Events that were taken from their lane.
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
