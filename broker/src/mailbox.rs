//! A mailbox: what waits for one subscription of an agent, in order, and what is out with its instances.
//!
//! Waiting mail stands in *lanes*, one for each order key. Within a lane the order is that of the log. Between lanes priority
//! chooses, with aging: a lane's rank is the time at which its head came, set back by what its priority is worth. While an instance
//! holds deliveries of a lane, the lane is that instance's. In an *ordered* mailbox the head of a lane waits until nothing of the lane
//! is out or comes back.
//!
//! A piece of mail is either in the waiting [`room`] or out on a [lease](leases). It comes in with [`push`](Mailbox::push), goes out
//! with [`take`](Mailbox::take), and leaves when it is acknowledged or given up. Whatever else happens to what is out (it is refused, its
//! lease runs out, its instance goes), it comes back to the room through `give_back`, which alone gives up what was tried too often.
//!
//! Mail that came together passes together as long as nothing else is there: in with [`pass`](Mailbox::pass), out with
//! [`take_passing`](Mailbox::take_passing), where it is [lent]. When something happens to one piece, it parts.

mod deadlines;
mod lanes;
mod leases;
mod lent;
mod mail;
mod parcel;
mod passing;
mod room;
mod tries;
mod view;
mod waiting;

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use self::{
    leases::{Lease, Leases},
    lent::Lent,
    room::Room,
    waiting::Waiting,
};
pub(crate) use self::{
    mail::{Delivery, HandOver, Mail, Reclaimed, Timing, Undelivered},
    parcel::Parcel,
};
use crate::{
    id::{InstanceId, Version},
    log::Position,
    table::Set,
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

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Mailbox {
    bounds: Bounds,
    born: Instant,
    serial: u64,
    /// Of all that it holds, waiting or out.
    events: usize,
    bytes: usize,
    room: Room,
    leases: Leases,
    /// While parcels are out, nothing else is.
    lent: Lent,
    /// The log is told of its deliveries.
    is_told: bool,
    /// The deliveries that the log does not know of yet.
    untold: Set<Position>,
}

impl Mailbox {
    pub(crate) fn new(bounds: Bounds, now: Instant) -> Self {
        Self {
            bounds,
            born: now,
            serial: 0,
            events: 0,
            bytes: 0,
            room: Room::default(),
            leases: Leases::default(),
            lent: Lent::default(),
            is_told: true,
            untold: Set::default(),
        }
    }

    /// Whether the log is told of its deliveries.
    pub(crate) fn set_told(&mut self, is_told: bool) {
        self.is_told = is_told;
    }

    /// Whether the next delivery of a lane waits for the acknowledgement of the one before.
    pub(crate) fn set_ordered(&mut self, ordered: bool) {
        if self.room.is_ordered() != ordered {
            // From here on it counts in which lane each is.
            self.part();
            self.room.set_ordered(ordered);
        }
    }

    /// Adds mail. The mailbox may hold too much afterwards: see [`surplus`](Self::surplus).
    pub(crate) fn push(&mut self, mail: Mail, now: Instant) {
        self.serial += 1;
        self.events += 1;
        self.bytes += mail.bytes();
        let due = mail.timing.due.filter(|due| *due > now);
        let waiting = Waiting::new(mail, self.serial, self.born, now);
        match due {
            Some(due) => self.room.delay(waiting, due),
            None => self.room.insert(waiting),
        }
    }

    /// Takes out the oldest that waits, as far as the mailbox is too full.
    pub(crate) fn surplus(&mut self) -> Vec<Undelivered> {
        let Bounds { events, bytes, .. } = self.bounds;
        let mut evicted = Vec::new();
        while self.events > events || self.bytes > bytes {
            let Some(oldest) = self.room.pop_oldest() else {
                break;
            };
            self.forget(&oldest);
            let reason = format!("the mailbox is full ({events} events, {bytes} bytes)");
            evicted.push(oldest.give_up(reason));
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
        if self.room.is_idle() {
            return None;
        }
        self.part();
        let mut waiting = self.room.pop_for(instance, version)?;
        waiting.attempts += 1;
        let handed_over = waiting.hand_over_to(instance).map(Box::new);
        let attempt = waiting.attempts;
        let mail = match waiting.mail.position {
            Some(at) => {
                let mail = waiting.mail.clone();
                self.lease(waiting, at, instance, now + self.bounds.ack_deadline);
                mail
            }
            None => {
                self.forget(&waiting);
                waiting.mail
            }
        };
        Some(Delivery {
            mail,
            attempt,
            handed_over,
        })
    }

    /// Whether an instance has it.
    pub(crate) fn is_out(&self, position: Position) -> bool {
        self.leases.get(position).is_some() || self.lent.holds(position)
    }

    /// Handled by an instance. What another one has by then is that one's to handle.
    pub(crate) fn acknowledge_from(&mut self, position: Position, instance: &InstanceId) -> bool {
        let is_anothers = |lease: &Lease| lease.instance != *instance;
        if self.lent.is_with_another(instance) {
            self.part();
        }
        !self.leases.get(position).is_some_and(is_anothers) && self.acknowledge(position)
    }

    /// Handled. Mail that is not out counts too: its handler was only slow, or the log is being read again.
    pub(crate) fn acknowledge(&mut self, position: Position) -> bool {
        if let Some(bytes) = self.lent.remove_first(position) {
            self.events -= 1;
            self.bytes -= bytes;
            self.untold.remove(&position);
            return true;
        }
        if self.lent.holds(position) {
            self.part();
        }
        let waiting = self.end_lease(position);
        let waiting = waiting.or_else(|| self.room.remove(position));
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
        self.part();
        let is_its = self.leases.is_with(position, instance);
        is_its.then(|| self.give_back(position, delay, reason, now))?
    }

    /// The instance is still at work on it.
    pub(crate) fn extend(&mut self, position: Position, instance: &InstanceId, now: Instant) {
        self.part();
        let until = now + self.bounds.ack_deadline;
        self.leases.extend(position, instance, until);
    }

    /// The instance is back on another stream. What it claims stays its own, or becomes so again; what it had and does not claim did not
    /// reach it, and is to be delivered again. Where the hub went away with it, that was a try nevertheless: the mail may have been
    /// the reason.
    pub(crate) fn reclaim(
        &mut self,
        instance: &InstanceId,
        claimed: &HashSet<Position>,
        now: Instant,
    ) -> Reclaimed {
        self.part();
        let until = now + self.bounds.ack_deadline;
        let mut given_up = Vec::new();
        for position in self.leases.of(instance) {
            if claimed.contains(&position) {
                self.leases.extend(position, instance, until);
            } else if self.leases.was_out(position) {
                let reason = "the hub went away while it was delivered";
                given_up.extend(self.give_back(position, Duration::ZERO, reason, now));
            } else if let Some(mut waiting) = self.end_lease(position) {
                waiting.attempts = waiting.attempts.saturating_sub(1);
                self.room.insert(waiting);
            }
        }
        let mut handed_over = Vec::new();
        for position in claimed {
            if let Some(lease) = self.leases.get(*position) {
                handed_over.extend(lease.waiting.hand_over(instance, &lease.instance));
            } else if let Some(mut waiting) = self.room.remove(*position) {
                waiting.attempts = waiting.attempts.max(1);
                handed_over.extend(waiting.hand_over_to(instance));
                self.lease(waiting, *position, instance, until);
            }
        }
        Reclaimed {
            handed_over,
            given_up,
        }
    }

    /// The instance is gone: what it had is to be delivered again.
    pub(crate) fn release(&mut self, instance: &InstanceId, now: Instant) -> Vec<Undelivered> {
        self.part();
        let its = self.leases.of(instance).into_iter();
        its.filter_map(|p| self.give_back(p, Duration::ZERO, "its agent went away", now))
            .collect()
    }

    /// Brings back what is due: leases that have run out and what was refused with a delay. Gives up what has waited too long.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        if self.lent.next_end().is_some_and(|at| at <= now) {
            self.part();
        }
        while let Some(position) = self.leases.over(now) {
            let reason = "nobody acknowledged it in time";
            undelivered.extend(self.give_back(position, Duration::ZERO, reason, now));
        }
        self.room.bring(now);
        while let Some(waiting) = self.room.pop_expired(now) {
            self.forget(&waiting);
            undelivered.push(waiting.give_up(EXPIRED.to_owned()));
        }
        undelivered
    }

    /// When [`tick`](Self::tick) has something to do.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        let lease = self.leases.next_end();
        let dues = lease.into_iter().chain(self.room.next());
        dues.chain(self.lent.next_end()).min()
    }

    /// Puts mail out with an instance.
    fn lease(
        &mut self,
        mut waiting: Waiting,
        position: Position,
        instance: &InstanceId,
        until: Instant,
    ) {
        waiting.last = Some(instance.clone());
        self.note(position);
        self.room.hold(&waiting.lane(), instance);
        self.leases.insert(position, waiting, instance, until);
    }

    fn end_lease(&mut self, position: Position) -> Option<Waiting> {
        let mut waiting = self.leases.remove(position)?.waiting;
        waiting.was_out = false;
        self.note(position);
        self.room.release(&waiting.lane());
        Some(waiting)
    }

    /// Something has happened to a delivery.
    fn note(&mut self, position: Position) {
        if self.is_told {
            self.untold.insert(position);
        }
    }

    /// Ends a lease without success: the mail waits again, or is given up.
    fn give_back(
        &mut self,
        position: Position,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Option<Undelivered> {
        let waiting = self.end_lease(position)?;
        let was_tried_enough = waiting.attempts >= self.bounds.max_attempts;
        if was_tried_enough || waiting.mail.timing.expires <= now {
            self.forget(&waiting);
            let why = match was_tried_enough {
                true => format!("given up after {} deliveries: {reason}", waiting.attempts),
                false => EXPIRED.to_owned(),
            };
            return Some(waiting.give_up(why));
        }
        match delay {
            Duration::ZERO => self.room.insert(waiting),
            delay => self.room.delay(waiting, now + delay),
        }
        None
    }

    /// Counts mail out that has left.
    fn forget(&mut self, waiting: &Waiting) {
        self.events -= 1;
        self.bytes -= waiting.mail.bytes();
        if let Some(position) = waiting.mail.position {
            self.untold.remove(&position);
        }
    }
}

#[cfg(test)]
mod tests;
