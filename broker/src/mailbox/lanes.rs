//! The lanes of a mailbox: what waits, by order key and version, and which head is whose turn.

use std::collections::{BTreeMap, VecDeque};

use super::waiting::{Rank, Waiting};
use crate::{
    id::{InstanceId, OrderKey, Version},
    log::Position,
    table::Table,
};

/// A lane is mail with one order key for one version.
pub(super) type LaneKey = (OrderKey, Option<Version>);

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Waiting>,
    /// The instance with deliveries of this lane, and how many.
    holder: Option<(InstanceId, usize)>,
    /// Mail that was out and comes back later.
    returning: usize,
    /// What the indexes of heads say of it.
    standing: Option<Standing>,
}

/// Where the head of a lane stands among those of other lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Standing {
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
        self.queue.is_empty() && self.holder.is_none() && self.returning == 0
    }

    /// Whose turn its head is; `None` without one.
    fn stands(&self, is_ordered: bool) -> Option<Standing> {
        let is_blocked = is_ordered && (self.holder.is_some() || self.returning > 0);
        Some(Standing {
            rank: self.queue.front()?.rank,
            turn: match &self.holder {
                _ if is_blocked => Turn::Nobody,
                Some((instance, _)) => Turn::Held(instance.clone()),
                None => Turn::Free,
            },
        })
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The head of a lane waits until nothing of that lane is out or comes back.
    ordered: bool,
    lanes: Table<LaneKey, Lane>,
    /// The heads of the lanes that any instance of the version may have.
    free: Table<Option<Version>, BTreeMap<Rank, LaneKey>>,
    /// The heads of the lanes that belong to an instance.
    held: Table<InstanceId, BTreeMap<Rank, LaneKey>>,
    /// The heads of all lanes, oldest first.
    oldest: BTreeMap<u64, LaneKey>,
}

impl Lanes {
    /// Whether the head of a lane waits for the acknowledgement of what went before it.
    pub(super) fn set_ordered(&mut self, ordered: bool) {
        if self.ordered == ordered {
            return;
        }
        self.ordered = ordered;
        let keys: Vec<LaneKey> = self.lanes.keys().cloned().collect();
        for key in keys {
            self.change(&key, |_| ());
        }
    }

    /// See [`set_ordered`](Self::set_ordered).
    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Takes out the head that is first in turn for an instance.
    pub(super) fn pop_for(
        &mut self,
        instance: &InstanceId,
        version: Option<&Version>,
    ) -> Option<Waiting> {
        let key = [
            self.free.get(&None),
            version.and_then(|v| self.free.get(&Some(v.clone()))),
            self.held.get(instance),
        ]
        .into_iter()
        .flatten()
        .filter_map(BTreeMap::first_key_value)
        .min_by_key(|(rank, _)| **rank)
        .map(|(_, key)| key.clone())?;
        self.change(&key, |lane| lane.queue.pop_front())
    }

    /// Takes out what has waited longest.
    pub(super) fn pop_oldest(&mut self) -> Option<Waiting> {
        let key = self.oldest.first_key_value()?.1.clone();
        self.change(&key, |lane| lane.queue.pop_front())
    }

    /// Puts mail into its lane, in the order of the log.
    pub(super) fn insert(&mut self, waiting: Waiting) {
        self.change(&waiting.lane(), |lane| {
            let serial = waiting.rank.serial;
            match lane.queue.back() {
                Some(last) if last.rank.serial > serial => {
                    let at = lane.queue.partition_point(|w| w.rank.serial < serial);
                    lane.queue.insert(at, waiting);
                }
                _ => lane.queue.push_back(waiting),
            }
        });
    }

    /// Takes out one piece of mail.
    pub(super) fn remove(&mut self, key: &LaneKey, position: Position) -> Option<Waiting> {
        self.change(key, |lane| {
            let mut queue = lane.queue.iter();
            let at = queue.position(|w| w.mail.position == Some(position))?;
            lane.queue.remove(at)
        })
    }

    /// One piece of mail.
    pub(super) fn get(&self, key: &LaneKey, position: Position) -> Option<&Waiting> {
        let mut queue = self.lanes.get(key)?.queue.iter();
        queue.find(|w| w.mail.position == Some(position))
    }

    /// An instance has one more delivery of a lane.
    pub(super) fn hold(&mut self, key: &LaneKey, instance: &InstanceId) {
        self.change(key, |lane| match &mut lane.holder {
            Some((_, held)) => *held += 1,
            none => *none = Some((instance.clone(), 1)),
        });
    }

    /// An instance has one delivery of a lane less.
    pub(super) fn release(&mut self, key: &LaneKey) {
        self.change(key, |lane| match &mut lane.holder {
            Some((_, held)) if *held > 1 => *held -= 1,
            holder => *holder = None,
        });
    }

    /// Mail that was out comes back to its lane later.
    pub(super) fn expect(&mut self, key: &LaneKey) {
        self.change(key, |lane| lane.returning += 1);
    }

    /// What was [expected](Self::expect) is there, or comes no more.
    pub(super) fn expect_no_more(&mut self, key: &LaneKey) {
        self.change(key, |lane| {
            lane.returning = lane.returning.saturating_sub(1);
        });
    }

    /// Whether nothing waits, is out or comes back.
    pub(super) fn is_idle(&self) -> bool {
        self.lanes.is_empty()
    }

    /// All that waits in lanes.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.lanes.values().flat_map(|lane| &lane.queue)
    }

    /// Changes a lane and keeps the indexes of heads true. A lane that is idle afterwards leaves.
    fn change<T>(&mut self, key: &LaneKey, change: impl FnOnce(&mut Lane) -> T) -> T {
        let lane = match self.lanes.get_mut(key) {
            Some(lane) => lane,
            None => self.lanes.entry(key.clone()).or_default(),
        };
        let result = change(lane);
        let is_idle = lane.is_idle();
        let after = lane.stands(self.ordered);
        if after != lane.standing {
            let before = std::mem::replace(&mut lane.standing, after.clone());
            self.stand(key, before.as_ref(), after.as_ref());
        }
        if is_idle {
            self.lanes.remove(key);
        }
        result
    }

    /// The head of a lane stands elsewhere.
    fn stand(&mut self, key: &LaneKey, before: Option<&Standing>, after: Option<&Standing>) {
        if let Some(Standing { rank, turn }) = before {
            self.oldest.remove(&rank.serial);
            if let Some(heads) = self.heads(turn, key) {
                heads.remove(rank);
            }
        }
        if let Some(Standing { rank, turn }) = after {
            self.oldest.insert(rank.serial, key.clone());
            if let Some(heads) = self.heads(turn, key) {
                heads.insert(*rank, key.clone());
            }
        }
        let turn = before.map(|b| &b.turn);
        if turn != after.map(|a| &a.turn) {
            self.forget_if_empty(turn, key);
        }
    }

    /// The heads among which one is whose turn it is like that.
    fn heads(&mut self, turn: &Turn, key: &LaneKey) -> Option<&mut BTreeMap<Rank, LaneKey>> {
        match turn {
            Turn::Free => Some(self.free.entry(key.1.clone()).or_default()),
            Turn::Held(instance) => Some(self.held.entry(instance.clone()).or_default()),
            Turn::Nobody => None,
        }
    }

    fn forget_if_empty(&mut self, turn: Option<&Turn>, key: &LaneKey) {
        match turn {
            Some(Turn::Free) if self.free.get(&key.1).is_some_and(BTreeMap::is_empty) => {
                self.free.remove(&key.1);
            }
            Some(Turn::Held(instance))
                if self.held.get(instance).is_some_and(BTreeMap::is_empty) =>
            {
                self.held.remove(instance);
            }
            _ => {}
        }
    }
}
