//! A mailbox: what waits for one subscription of an agent, in order, and what is out with its instances.
//!
//! Waiting mail stands in *lanes*, one for each order key. Within a lane the order is that of the log. Between lanes priority
//! chooses, with aging: a lane's rank is the time at which its head came, set back by what its priority is worth. While an instance
//! holds deliveries of a lane, the lane is that instance's. In an *ordered* mailbox the head of a lane waits until nothing of the lane
//! is out or comes back.

mod lanes;
mod mail;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::Duration,
};

use agenthub_proto::agenthub::Priority;
use tokio::time::Instant;

use self::lanes::{LaneKey, Lanes};
pub(crate) use self::mail::{Delivery, HandOver, Mail, Timing, Undelivered};
use crate::{
    id::{InstanceId, Version},
    log::Position,
};

/// Its bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
    pub(crate) ack_deadline: Duration,
    pub(crate) max_attempts: u32,
}

/// Why mail is given up that nobody took.
const EXPIRED: &str = "it has waited too long";

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
    /// Who had it last.
    last: Option<InstanceId>,
}

impl Waiting {
    fn lane(&self) -> LaneKey {
        (self.mail.order.clone(), self.mail.version.clone())
    }

    fn handed_over(&self, from: &InstanceId, to: &InstanceId) -> Option<HandOver> {
        (from != to).then(|| HandOver {
            mail: self.mail.clone(),
            from: from.clone(),
            to: to.clone(),
        })
    }

    fn give_up(self, reason: String) -> Undelivered {
        Undelivered {
            mail: self.mail,
            attempts: self.attempts,
            reason,
            mailbox: None,
        }
    }
}

#[derive(Clone, Debug)]
struct Lease {
    waiting: Waiting,
    instance: InstanceId,
    until: Instant,
}

/// Where mail is that is not out.
#[derive(Clone, Debug)]
enum Place {
    Lane(LaneKey),
    /// It comes to its lane at that time.
    Later((Instant, u64)),
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Mailbox {
    bounds: Bounds,
    born: Instant,
    serial: u64,
    events: usize,
    bytes: usize,
    lanes: Lanes,
    leases: HashMap<Position, Lease>,
    lease_ends: BTreeSet<(Instant, Position)>,
    later: BTreeMap<(Instant, u64), Waiting>,
    /// All mail that is in the log and not out.
    places: HashMap<Position, Place>,
    /// When that is given up.
    expiries: BTreeSet<(Instant, Position)>,
}

impl Mailbox {
    pub(crate) fn new(bounds: Bounds, now: Instant) -> Self {
        Self {
            bounds,
            born: now,
            serial: 0,
            events: 0,
            bytes: 0,
            lanes: Lanes::default(),
            leases: HashMap::new(),
            lease_ends: BTreeSet::new(),
            later: BTreeMap::new(),
            places: HashMap::new(),
            expiries: BTreeSet::new(),
        }
    }

    /// Whether the next delivery of a lane waits for the acknowledgement of the one before.
    pub(crate) fn set_ordered(&mut self, ordered: bool) {
        self.lanes.set_ordered(ordered);
    }

    /// Adds mail. The mailbox may hold too much afterwards: see [`surplus`](Self::surplus).
    pub(crate) fn push(&mut self, mail: Mail, now: Instant) {
        self.serial += 1;
        let due = mail.timing.due.filter(|due| *due > now);
        let arrived = due.unwrap_or(now).duration_since(self.born).as_millis();
        let rank = Rank {
            due_ms: i64::try_from(arrived).unwrap_or(i64::MAX)
                - head_start_ms(mail.event.priority()),
            serial: self.serial,
        };
        self.events += 1;
        self.bytes += mail.bytes();
        let waiting = Waiting {
            mail,
            rank,
            attempts: 0,
            last: None,
        };
        match due {
            Some(due) => self.delay(waiting, due),
            None => self.insert(waiting),
        }
    }

    /// Takes out the oldest that waits, as far as the mailbox is too full.
    pub(crate) fn surplus(&mut self) -> Vec<Undelivered> {
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
        let mut waiting = self.lanes.pop_for(instance, version)?;
        self.unplace(&waiting);
        waiting.attempts += 1;
        let delivery = Delivery {
            mail: waiting.mail.clone(),
            attempt: waiting.attempts,
            handed_over: waiting
                .last
                .as_ref()
                .and_then(|last| waiting.handed_over(last, instance)),
        };
        let Some(position) = waiting.mail.position else {
            self.forget(&waiting);
            return Some(delivery);
        };
        self.lease(waiting, position, instance, now);
        Some(delivery)
    }

    /// Handled by an instance. What another one has by then is that one's to handle.
    pub(crate) fn acknowledge_from(&mut self, position: Position, instance: &InstanceId) -> bool {
        let is_anothers = |lease: &Lease| lease.instance != *instance;
        !self.leases.get(&position).is_some_and(is_anothers) && self.acknowledge(position)
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
    /// reach it, and is to be delivered again. Returns what
    /// it claims and another one has by then, or had.
    pub(crate) fn reclaim(
        &mut self,
        instance: &InstanceId,
        claimed: &HashSet<Position>,
        now: Instant,
    ) -> Vec<HandOver> {
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
        let mut handed_over = Vec::new();
        for position in claimed {
            if let Some(lease) = self.leases.get(position) {
                handed_over.extend(lease.waiting.handed_over(instance, &lease.instance));
            } else if let Some(mut waiting) = self.take_out(*position) {
                waiting.attempts = waiting.attempts.max(1);
                let last = waiting.last.as_ref();
                handed_over.extend(last.and_then(|last| waiting.handed_over(last, instance)));
                self.lease(waiting, *position, instance, now);
            }
        }
        handed_over
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
        while let Some((at, _)) = self.later.first_key_value().filter(|(at, _)| at.0 <= now) {
            let at = *at;
            if let Some(waiting) = self.take_later(at) {
                self.insert(waiting);
            }
        }
        while let Some((_, position)) = self
            .expiries
            .first()
            .copied()
            .filter(|(expires, _)| *expires <= now)
        {
            let Some(waiting) = self.take_out(position) else {
                break;
            };
            self.forget(&waiting);
            undelivered.push(waiting.give_up(EXPIRED.to_owned()));
        }
        undelivered
    }

    /// When [`tick`](Self::tick) has something to do.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        let lease = self.lease_ends.first().map(|(at, _)| *at);
        let later = self.later.first_key_value().map(|((at, _), _)| *at);
        let expiry = self.expiries.first().map(|(at, _)| *at);
        [lease, later, expiry].into_iter().flatten().min()
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
        if let Some(position) = waiting.mail.position {
            self.places.insert(position, Place::Lane(waiting.lane()));
            self.expiries
                .insert((waiting.mail.timing.expires, position));
        }
        self.lanes.insert(waiting);
    }

    /// Keeps mail until it may be delivered.
    fn delay(&mut self, waiting: Waiting, until: Instant) {
        let at = (until, waiting.rank.serial);
        if let Some(position) = waiting.mail.position {
            self.places.insert(position, Place::Later(at));
            self.expiries
                .insert((waiting.mail.timing.expires, position));
        }
        if waiting.attempts > 0 {
            self.lanes.expect(&waiting.lane());
        }
        self.later.insert(at, waiting);
    }

    /// Puts mail out with an instance.
    fn lease(
        &mut self,
        mut waiting: Waiting,
        position: Position,
        instance: &InstanceId,
        now: Instant,
    ) {
        waiting.last = Some(instance.clone());
        self.lanes.hold(&waiting.lane(), instance);
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
        let waiting = match self.places.get(&position)?.clone() {
            Place::Lane(key) => self.lanes.remove(&key, position),
            Place::Later(at) => self.take_later(at),
        }?;
        self.unplace(&waiting);
        Some(waiting)
    }

    fn take_later(&mut self, at: (Instant, u64)) -> Option<Waiting> {
        let waiting = self.later.remove(&at)?;
        if waiting.attempts > 0 {
            self.lanes.expect_no_more(&waiting.lane());
        }
        Some(waiting)
    }

    /// The mail does not wait any more.
    fn unplace(&mut self, waiting: &Waiting) {
        if let Some(position) = waiting.mail.position {
            self.places.remove(&position);
            self.expiries
                .remove(&(waiting.mail.timing.expires, position));
        }
    }

    fn end_lease(&mut self, position: Position) -> Option<Lease> {
        let lease = self.leases.remove(&position)?;
        self.lease_ends.remove(&(lease.until, position));
        self.lanes.release(&lease.waiting.lane());
        Some(lease)
    }

    fn retry(
        &mut self,
        waiting: Waiting,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Option<Undelivered> {
        if waiting.attempts >= self.bounds.max_attempts || waiting.mail.timing.expires <= now {
            self.forget(&waiting);
            let why = match waiting.attempts >= self.bounds.max_attempts {
                true => format!("given up after {} deliveries: {reason}", waiting.attempts),
                false => EXPIRED.to_owned(),
            };
            return Some(waiting.give_up(why));
        }
        if delay.is_zero() {
            self.insert(waiting);
        } else {
            self.delay(waiting, now + delay);
        }
        None
    }

    fn evict(&mut self) -> Option<Undelivered> {
        let waiting = match self.lanes.pop_oldest() {
            Some(waiting) => waiting,
            None => {
                let at = *self.later.first_key_value()?.0;
                self.take_later(at)?
            }
        };
        self.unplace(&waiting);
        self.forget(&waiting);
        let Bounds { events, bytes, .. } = self.bounds;
        let reason = format!("the mailbox is full ({events} events, {bytes} bytes)");
        Some(waiting.give_up(reason))
    }

    /// Counts mail out that has left.
    fn forget(&mut self, waiting: &Waiting) {
        self.events -= 1;
        self.bytes -= waiting.mail.bytes();
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
