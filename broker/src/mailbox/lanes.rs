//! The lanes of a mailbox: what waits, by order key and version, and which head is whose turn.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::waiting::{Rank, Waiting};
use crate::{
    id::{InstanceId, OrderKey, Version},
    log::Position,
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
}

impl Lane {
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.holder.is_none() && self.returning == 0
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The head of a lane waits until nothing of that lane is out or comes back.
    ordered: bool,
    lanes: HashMap<LaneKey, Lane>,
    /// The heads of the lanes that any instance of the version may have.
    free: HashMap<Option<Version>, BTreeMap<Rank, LaneKey>>,
    /// The heads of the lanes that belong to an instance.
    held: HashMap<InstanceId, BTreeMap<Rank, LaneKey>>,
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
            let at = lane
                .queue
                .partition_point(|w| w.rank.serial < waiting.rank.serial);
            lane.queue.insert(at, waiting);
        });
    }

    /// Takes out one piece of mail.
    pub(super) fn remove(&mut self, key: &LaneKey, position: Position) -> Option<Waiting> {
        self.change(key, |lane| {
            let at = lane
                .queue
                .iter()
                .position(|w| w.mail.position == Some(position))?;
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
        let lane = self.lanes.entry(key.clone()).or_default();
        if let Some(head) = lane.queue.front() {
            self.oldest.remove(&head.rank.serial);
            match &lane.holder {
                Some((instance, _)) => remove_head(&mut self.held, instance, head.rank),
                None => remove_head(&mut self.free, &key.1, head.rank),
            }
        }
        let result = change(lane);
        if let Some(head) = lane.queue.front() {
            self.oldest.insert(head.rank.serial, key.clone());
            let is_blocked = self.ordered && (lane.holder.is_some() || lane.returning > 0);
            let heads = match &lane.holder {
                _ if is_blocked => None,
                Some((instance, _)) => Some(self.held.entry(instance.clone()).or_default()),
                None => Some(self.free.entry(key.1.clone()).or_default()),
            };
            if let Some(heads) = heads {
                heads.insert(head.rank, key.clone());
            }
        }
        if lane.is_idle() {
            self.lanes.remove(key);
        }
        result
    }
}

fn remove_head<K: std::hash::Hash + Eq>(
    heads: &mut HashMap<K, BTreeMap<Rank, LaneKey>>,
    of: &K,
    rank: Rank,
) {
    if let Some(ranks) = heads.get_mut(of) {
        ranks.remove(&rank);
        if ranks.is_empty() {
            heads.remove(of);
        }
    }
}
