//! A mailbox: what waits for one subscription of an agent, in order, and what is out with its instances.
//!
//! Waiting mail stands in *lanes*, one for each order key. Within a lane the order is that of the log. Between lanes priority
//! chooses, with aging: a lane's rank is the time at which its head came, set back by what its priority is worth. While an instance
//! holds deliveries of a lane, the lane is that instance's.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use agenthub_proto::agenthub::{AgentEvent, Concern, Priority};
use prost::Message;
use tokio::time::Instant;

use crate::{
    id::{AgentId, InstanceId, MailboxId, OrderKey, Version},
    log::Position,
};

/// One event in a mailbox.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) event: Arc<AgentEvent>,
    /// Whose mail it is.
    pub(crate) recipient: AgentId,
    /// Where it stands in the log; what has no position may be lost and is not acknowledged.
    pub(crate) position: Option<Position>,
    pub(crate) order: OrderKey,
    /// On which side of the task it reaches the agent.
    pub(crate) concern: Concern,
    /// Only instances of this version may have it.
    pub(crate) version: Option<Version>,
    /// It is for this agent, rather than for everyone.
    pub(crate) is_directed: bool,
}

/// Mail on its way to an instance.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) mail: Mail,
    /// 1 on the first delivery.
    pub(crate) attempt: u32,
}

/// Its bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
    pub(crate) ack_deadline: Duration,
    pub(crate) max_attempts: u32,
}

/// Why mail left without having been handled.
#[derive(Clone, Debug)]
pub(crate) struct Undelivered {
    pub(crate) mail: Mail,
    pub(crate) reason: String,
    /// Where it was.
    pub(crate) mailbox: Option<MailboxId>,
}

/// Lower goes first. The serial number keeps mail of the same time in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    due_ms: i64,
    serial: u64,
}

#[derive(Clone, Debug)]
struct Waiting {
    mail: Mail,
    rank: Rank,
    /// Deliveries so far.
    attempts: u32,
}

impl Waiting {
    fn lane(&self) -> LaneKey {
        (self.mail.order.clone(), self.mail.version.clone())
    }
}

#[derive(Clone, Debug)]
struct Lease {
    waiting: Waiting,
    instance: InstanceId,
    until: Instant,
}

/// A lane is mail with one order key for one version.
type LaneKey = (OrderKey, Option<Version>);

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Waiting>,
    /// The instance with deliveries of this lane, and how many.
    holder: Option<(InstanceId, usize)>,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Mailbox {
    bounds: Bounds,
    born: Instant,
    serial: u64,
    events: usize,
    bytes: usize,
    lanes: HashMap<LaneKey, Lane>,
    /// The heads of the lanes that any instance of the version may have.
    free: HashMap<Option<Version>, BTreeMap<Rank, LaneKey>>,
    /// The heads of the lanes that belong to an instance.
    held: HashMap<InstanceId, BTreeMap<Rank, LaneKey>>,
    /// The heads of all lanes, oldest first.
    oldest: BTreeMap<u64, LaneKey>,
    leases: HashMap<Position, Lease>,
    lease_ends: BTreeSet<(Instant, Position)>,
    delayed: BTreeMap<(Instant, u64), Waiting>,
    /// The lane of all mail that is not out.
    lane_of: HashMap<Position, LaneKey>,
}

impl Mailbox {
    pub(crate) fn new(bounds: Bounds, now: Instant) -> Self {
        Self {
            bounds,
            born: now,
            serial: 0,
            events: 0,
            bytes: 0,
            lanes: HashMap::new(),
            free: HashMap::new(),
            held: HashMap::new(),
            oldest: BTreeMap::new(),
            leases: HashMap::new(),
            lease_ends: BTreeSet::new(),
            delayed: BTreeMap::new(),
            lane_of: HashMap::new(),
        }
    }

    /// Adds mail. Returns the oldest that waits, as far as the mailbox would be too full with it.
    pub(crate) fn push(&mut self, mail: Mail, now: Instant) -> Vec<Undelivered> {
        self.serial += 1;
        let arrived = i64::try_from(now.duration_since(self.born).as_millis()).unwrap_or(i64::MAX);
        let rank = Rank {
            due_ms: arrived - head_start_ms(mail.event.priority()),
            serial: self.serial,
        };
        self.events += 1;
        self.bytes += mail.event.encoded_len();
        self.insert(Waiting {
            mail,
            rank,
            attempts: 0,
        });
        let mut evicted = Vec::new();
        while self.events > self.bounds.events || self.bytes > self.bounds.bytes {
            let Some(oldest) = self.evict() else { break };
            evicted.push(oldest);
        }
        evicted
    }

    /// The next delivery for an instance, and a lease on it if it has a position.
    pub(crate) fn take(
        &mut self,
        instance: &InstanceId,
        version: Option<&Version>,
        now: Instant,
    ) -> Option<Delivery> {
        let lane_key = [
            self.free.get(&None),
            version.and_then(|v| self.free.get(&Some(v.clone()))),
            self.held.get(instance),
        ]
        .into_iter()
        .flatten()
        .filter_map(BTreeMap::first_key_value)
        .min_by_key(|(rank, _)| **rank)
        .map(|(_, key)| key.clone())?;

        let mut waiting = self.pop(&lane_key)?;
        waiting.attempts += 1;
        let delivery = Delivery {
            mail: waiting.mail.clone(),
            attempt: waiting.attempts,
        };
        let Some(position) = waiting.mail.position else {
            self.forget(&waiting);
            return Some(delivery);
        };
        self.lease(waiting, position, instance, now);
        Some(delivery)
    }

    /// Handled. Mail that is not out counts too: its handler was only slow, or the log is being read again.
    pub(crate) fn acknowledge(&mut self, position: Position) -> bool {
        if let Some(lease) = self.end_lease(position) {
            self.forget(&lease.waiting);
            return true;
        }
        let waiting = self.take_out(position);
        if let Some(waiting) = &waiting {
            self.forget(waiting);
        }
        waiting.is_some()
    }

    /// Not handled by the instance that has it: to be delivered again after `delay`. Says what leaves for having been
    /// tried too often.
    pub(crate) fn refuse(
        &mut self,
        position: Position,
        instance: &InstanceId,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Option<Undelivered> {
        self.leases
            .get(&position)
            .filter(|l| l.instance == *instance)?;
        self.give_back(position, delay, reason, now)
    }

    /// The instance is still at work on it.
    pub(crate) fn extend(&mut self, position: Position, instance: &InstanceId, now: Instant) {
        if let Some(lease) = self
            .leases
            .get_mut(&position)
            .filter(|l| l.instance == *instance)
        {
            self.lease_ends.remove(&(lease.until, position));
            lease.until = now + self.bounds.ack_deadline;
            self.lease_ends.insert((lease.until, position));
        }
    }

    /// The instance is back on another stream. What it claims stays its own, or becomes so again; what it had and does not claim did not
    /// reach it, and is to be delivered again.
    pub(crate) fn reclaim(
        &mut self,
        instance: &InstanceId,
        claimed: &HashSet<Position>,
        now: Instant,
    ) {
        let lost: Vec<Position> = self
            .leases
            .iter()
            .filter(|(p, l)| l.instance == *instance && !claimed.contains(p))
            .map(|(p, _)| *p)
            .collect();
        for position in lost {
            if let Some(mut lease) = self.end_lease(position) {
                lease.waiting.attempts -= 1;
                self.insert(lease.waiting);
            }
        }
        for position in claimed {
            if let Some(mut waiting) = self.take_out(*position) {
                waiting.attempts = waiting.attempts.max(1);
                self.lease(waiting, *position, instance, now);
            }
        }
    }

    /// The instance is gone: what it had is to be delivered again.
    pub(crate) fn release(&mut self, instance: &InstanceId, now: Instant) -> Vec<Undelivered> {
        let mut positions: Vec<Position> = self
            .leases
            .iter()
            .filter(|(_, l)| l.instance == *instance)
            .map(|(p, _)| *p)
            .collect();
        positions.sort();
        positions
            .into_iter()
            .filter_map(|p| self.give_back(p, Duration::ZERO, "its agent went away", now))
            .collect()
    }

    /// Brings back what is due: leases that have run out and what was refused with a delay.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        while let Some((_, position)) = self
            .lease_ends
            .first()
            .copied()
            .filter(|(until, _)| *until <= now)
        {
            undelivered.extend(self.give_back(
                position,
                Duration::ZERO,
                "nobody acknowledged it in time",
                now,
            ));
        }
        while let Some(entry) = self.delayed.first_entry().filter(|e| e.key().0 <= now) {
            let waiting = entry.remove();
            self.insert(waiting);
        }
        undelivered
    }

    /// When [`tick`](Self::tick) has something to do.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        let lease = self.lease_ends.first().map(|(at, _)| *at);
        let delayed = self.delayed.first_key_value().map(|((at, _), _)| *at);
        lease.into_iter().chain(delayed).min()
    }

    /// Everything that waits or is out, in the order of the log.
    pub(crate) fn into_mail(self) -> Vec<Mail> {
        let lanes = self.lanes.into_values().flat_map(|l| l.queue);
        let leases = self.leases.into_values().map(|l| l.waiting);
        let mut all: Vec<Waiting> = lanes
            .chain(leases)
            .chain(self.delayed.into_values())
            .collect();
        all.sort_by_key(|w| (w.mail.position, w.rank.serial));
        all.into_iter().map(|w| w.mail).collect()
    }

    /// Everything that waits or is out, in the order in which it came.
    pub(crate) fn mail(&self) -> Vec<&Mail> {
        let lanes = self.lanes.values().flat_map(|l| &l.queue);
        let leases = self.leases.values().map(|l| &l.waiting);
        let mut all: Vec<&Waiting> = lanes.chain(leases).chain(self.delayed.values()).collect();
        all.sort_by_key(|w| w.rank.serial);
        all.into_iter().map(|w| &w.mail).collect()
    }

    fn give_back(
        &mut self,
        position: Position,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Option<Undelivered> {
        let lease = self.end_lease(position)?;
        self.retry(lease.waiting, delay, reason, now)
    }

    fn insert(&mut self, waiting: Waiting) {
        let key = waiting.lane();
        if let Some(position) = waiting.mail.position {
            self.lane_of.insert(position, key.clone());
        }
        self.lanes.entry(key.clone()).or_default();
        self.change(&key, |lane| {
            let at = lane
                .queue
                .partition_point(|w| w.rank.serial < waiting.rank.serial);
            lane.queue.insert(at, waiting);
        });
    }

    /// Puts mail out with an instance.
    fn lease(&mut self, waiting: Waiting, position: Position, instance: &InstanceId, now: Instant) {
        self.change(&waiting.lane(), |lane| match &mut lane.holder {
            Some((_, held)) => *held += 1,
            none => *none = Some((instance.clone(), 1)),
        });
        let until = now + self.bounds.ack_deadline;
        self.lease_ends.insert((until, position));
        let instance = instance.clone();
        let lease = Lease {
            waiting,
            instance,
            until,
        };
        self.leases.insert(position, lease);
    }

    /// Takes mail out of where it waits.
    fn take_out(&mut self, position: Position) -> Option<Waiting> {
        let key = self.lane_of.remove(&position)?;
        let is_it = |w: &Waiting| w.mail.position == Some(position);
        let waiting = self.change(&key, |lane| {
            let at = lane.queue.iter().position(is_it)?;
            lane.queue.remove(at)
        });
        waiting.or_else(|| {
            let at = self
                .delayed
                .iter()
                .find(|(_, w)| is_it(w))
                .map(|(at, _)| *at);
            self.delayed.remove(&at?)
        })
    }

    fn pop(&mut self, key: &LaneKey) -> Option<Waiting> {
        let waiting = self.change(key, |lane| lane.queue.pop_front())?;
        if let Some(position) = waiting.mail.position {
            self.lane_of.remove(&position);
        }
        Some(waiting)
    }

    /// Changes a lane and keeps the index of heads true. A lane that is idle afterwards leaves.
    fn change<T: Default>(&mut self, key: &LaneKey, change: impl FnOnce(&mut Lane) -> T) -> T {
        let Some(lane) = self.lanes.get_mut(key) else {
            // A lane leaves with its last mail and comes back with its holder.
            let mut lane = Lane::default();
            let result = change(&mut lane);
            if lane.holder.is_some() {
                self.lanes.insert(key.clone(), lane);
            }
            return result;
        };
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
        }
        match (lane.queue.front(), &lane.holder) {
            (Some(head), Some((instance, _))) => {
                self.held
                    .entry(instance.clone())
                    .or_default()
                    .insert(head.rank, key.clone());
            }
            (Some(head), None) => {
                self.free
                    .entry(key.1.clone())
                    .or_default()
                    .insert(head.rank, key.clone());
            }
            (None, Some(_)) => {}
            (None, None) => {
                self.lanes.remove(key);
            }
        }
        result
    }

    fn end_lease(&mut self, position: Position) -> Option<Lease> {
        let lease = self.leases.remove(&position)?;
        self.lease_ends.remove(&(lease.until, position));
        self.change(&lease.waiting.lane(), |lane| match &mut lane.holder {
            Some((_, held)) if *held > 1 => *held -= 1,
            holder => *holder = None,
        });
        Some(lease)
    }

    fn retry(
        &mut self,
        waiting: Waiting,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Option<Undelivered> {
        if waiting.attempts >= self.bounds.max_attempts {
            self.forget(&waiting);
            let reason = format!("given up after {} deliveries: {reason}", waiting.attempts);
            return Some(Undelivered {
                mail: waiting.mail,
                reason,
                mailbox: None,
            });
        }
        if delay.is_zero() {
            self.insert(waiting);
        } else {
            if let Some(position) = waiting.mail.position {
                self.lane_of.insert(position, waiting.lane());
            }
            self.delayed
                .insert((now + delay, waiting.rank.serial), waiting);
        }
        None
    }

    fn evict(&mut self) -> Option<Undelivered> {
        let key = self.oldest.first_key_value()?.1.clone();
        let waiting = self.pop(&key)?;
        self.forget(&waiting);
        Some(Undelivered {
            mail: waiting.mail,
            reason: format!(
                "the mailbox is full ({} events, {} bytes)",
                self.bounds.events, self.bounds.bytes
            ),
            mailbox: None,
        })
    }

    /// Counts mail out that has left.
    fn forget(&mut self, waiting: &Waiting) {
        self.events -= 1;
        self.bytes -= waiting.mail.event.encoded_len();
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

/// What a priority is worth, as milliseconds of waiting.
fn head_start_ms(priority: Priority) -> i64 {
    match priority {
        Priority::Critical => 60_000,
        Priority::High => 10_000,
        Priority::Medium | Priority::Unspecified => 0,
        Priority::Low => -10_000,
    }
}

#[cfg(test)]
mod tests;
