//! A mailbox: waiting and leased mail of one subscription of an agent, in order.
//!
//! Mail is stored in [batches](Batch): events that arrived together and have had the same history. An operation on some
//! events of a batch cuts them out of it, at a cost that does not depend on its length.
//!
//! Waiting mail is stored in *lanes*, one for each order key. Within a lane the order is that of the log. Between lanes
//! priority decides, with aging: a lane's rank is the arrival time of its head, minus a bonus for its priority. While
//! an instance holds deliveries of a lane, the lane is reserved for that instance. In an *ordered* mailbox the head of
//! a lane waits until no event of the lane is leased or delayed.
//!
//! A batch is either in the waiting [`room`] or on a [lease](leases). It enters with [`push`](Mailbox::push), is leased
//! with [`take`](Mailbox::take), and leaves when it is acknowledged or given up. After a refusal, an expired lease, or
//! the end of its instance, it returns to the room through `give_back`, which alone gives up mail after too many
//! attempts.

mod batch;
mod contents;
mod intervals;
mod lanes;
mod leases;
mod mail;
mod portion;
mod reclaiming;
mod room;
mod tries;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

pub(crate) use self::{
    batch::Batch,
    mail::{Delivery, HandOver, Mail, Reclaimed, Timing, Undelivered},
    portion::Portion,
    reclaiming::Reclaiming,
};
use self::{
    batch::{Common, Rank, Run},
    intervals::Intervals,
    leases::{Leases, Leaving},
    room::Room,
};
use crate::{
    id::{InstanceId, Version},
    log::Position,
    sealed::Sealed,
    segment::Segment,
    steps::step,
};

/// Limits of a mailbox.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
    pub(crate) ack_deadline: Duration,
    pub(crate) max_attempts: u32,
}

/// Reason for giving up mail that was never delivered in time.
const EXPIRED: &str = "it has waited too long";

/// Batches whose bodies are dropped at a time, which takes a microsecond or two each.
const SHED: usize = 1024;

/// The mailbox, see the module.
#[derive(Debug)]
pub(crate) struct Mailbox {
    bounds: Bounds,
    born: Instant,
    serial: u64,
    /// Number of all events, waiting or leased.
    events: usize,
    bytes: usize,
    room: Room,
    leases: Leases,
    /// Common facts of the last pushed batch: mostly equal for the next one.
    common: Option<Arc<Common>>,
    /// True if the log records delivery attempts.
    logs_attempts: bool,
    /// Delivery attempts that are not recorded yet.
    unlogged_attempts: Intervals,
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
            leases: Leases::new(bounds.ack_deadline),
            common: None,
            logs_attempts: true,
            unlogged_attempts: Intervals::default(),
        }
    }

    /// Sets whether the log records delivery attempts.
    pub(crate) fn set_logs_attempts(&mut self, logs_attempts: bool) {
        self.logs_attempts = logs_attempts;
    }

    /// Sets whether the next delivery of a lane waits for the acknowledgement of the previous one.
    pub(crate) fn set_ordered(&mut self, ordered: bool) {
        self.room.set_ordered(ordered);
    }

    /// Adds one piece of mail. The mailbox may exceed its limits afterwards: see [`surplus`](Self::surplus).
    pub(crate) fn push(&mut self, mail: &Mail, now: Instant) {
        let event = mail.event.clone();
        let segment = match mail.position {
            Some(position) => Segment::logged(vec![(position, event)]),
            None => Segment::of(event),
        };
        self.push_segment(mail, &segment.into(), now);
    }

    /// Adds the events of a segment, which are alike; `first` is the first of them. See [`push`](Self::push).
    pub(crate) fn push_segment(&mut self, first: &Mail, segment: &Arc<Segment>, now: Instant) {
        self.serial += segment.len() as u64;
        let due = first.timing.due.filter(|due| *due > now);
        let priority = first.event.priority();
        let rank = Rank::new(due.unwrap_or(now), priority, self.serial, self.born);
        let common = self.common_of(first);
        let batch = Batch::new(segment.clone(), common, rank, &first.timing);
        self.events += batch.len();
        self.bytes += batch.bytes();
        match due {
            Some(due) => self.room.delay(batch, due),
            None => self.room.insert(batch),
        }
    }

    fn common_of(&mut self, mail: &Mail) -> Arc<Common> {
        let last = self.common.take().filter(|common| **common == *mail);
        let common = last.unwrap_or_else(|| Arc::new(mail.into()));
        self.common = Some(common.clone());
        common
    }

    /// Drops the bodies of waiting mail that nobody will take soon; the log has them.
    pub(crate) fn shed(&mut self) {
        self.room.shed(SHED);
    }

    /// Removes the oldest waiting mail beyond the limits.
    pub(crate) fn surplus(&mut self) -> Vec<Undelivered> {
        let Bounds { events, bytes, .. } = self.bounds;
        let mut evicted = Vec::new();
        while self.events > events || self.bytes > bytes {
            let Some(oldest) = self.room.pop_oldest() else {
                break;
            };
            self.forget(&oldest);
            let reason = format!("the mailbox is full ({events} events, {bytes} bytes)");
            evicted.extend(oldest.give_up(&reason));
        }
        evicted
    }

    /// Removes a waiting batch, or else a leased one.
    pub(crate) fn pop(&mut self) -> Option<Batch> {
        let waiting = self.room.pop_oldest();
        let batch = waiting.or_else(|| self.leases.pop().map(|lease| lease.batch))?;
        self.forget(&batch);
        Some(batch)
    }

    /// Gives up some of the waiting mail of a subscriber that is gone for good.
    pub(crate) fn give_up_some(&mut self, portion: &mut Portion, reason: &str) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        while !portion.is_used_up()
            && let Some(batch) = self.room.pop_oldest()
        {
            self.forget(&batch);
            portion.given_up(batch.len());
            undelivered.extend(batch.give_up(reason));
        }
        undelivered
    }

    /// The next delivery for an instance, of at most `limit` events, with a lease if they are logged.
    pub(crate) fn take(
        &mut self,
        instance: &InstanceId,
        version: Option<&Version>,
        count: usize,
        now: Instant,
    ) -> Option<Delivery> {
        let taken = self.room.take(instance, version, count)?;
        let mut batch = taken.cut.batch;
        let handed_over = batch.hand_over_to(instance);
        let waited = now.saturating_duration_since(batch.since());
        batch.attempts += 1;
        if batch.positions().is_empty() {
            self.forget(&batch);
        } else {
            batch.last = Some(instance.clone());
            self.note(&batch);
            self.leases.insert(batch.clone(), taken.lane, now);
        }
        Some(Delivery {
            batch,
            waited,
            handed_over,
        })
    }

    /// True if an instance holds a lease on it.
    pub(crate) fn is_out(&self, position: Position) -> bool {
        self.leases.find(&[position]).is_some()
    }

    /// The event at this position, if the instance holds a lease on it.
    pub(crate) fn leased_event(
        &self,
        position: Position,
        instance: &InstanceId,
    ) -> Option<Arc<Sealed>> {
        let (run, lease) = self.leases.find(&[position])?;
        let its = Some(&lease.batch).filter(|_| lease.is_with(instance))?;
        its.events().nth(run.range.start).map(|(event, _)| event)
    }

    /// Acknowledges events. With an instance, only those that another one does not hold. Waiting mail counts too: its
    /// handler was only slow, or the log is being replayed. Returns the removed positions.
    pub(crate) fn acknowledge(
        &mut self,
        positions: &[Position],
        by: Option<&InstanceId>,
    ) -> Vec<Position> {
        let mut handled = Vec::with_capacity(positions.len());
        let mut rest = positions;
        while !rest.is_empty() {
            let (found, count) = match self.leases.find(rest) {
                Some((run, lease)) => {
                    let is_its = by.is_none_or(|by| lease.is_with(by));
                    let count = run.range.len();
                    (is_its.then(|| self.end_lease(&run)).flatten(), count)
                }
                None => match self.room.find(rest) {
                    Some(run) => (self.room.remove(&run), run.range.len()),
                    None => (None, 1),
                },
            };
            if let Some(batch) = found {
                self.forget(&batch);
                handled.extend_from_slice(&rest[..count]);
            }
            rest = &rest[count..];
        }
        handled
    }

    /// Refuses an event: redelivered after `delay`. Returns mail given up after too many attempts.
    pub(crate) fn refuse(
        &mut self,
        position: Position,
        instance: &InstanceId,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Vec<Undelivered> {
        let found = self.leases.find(&[position]);
        let its = found.filter(|(_, lease)| lease.is_with(instance));
        let run = its.map(|(run, _)| run);
        run.map_or_else(Vec::new, |run| self.give_back(&run, delay, reason, now))
    }

    /// Extends the instance's leases on these events.
    pub(crate) fn extend(&mut self, positions: &[Position], instance: &InstanceId, now: Instant) {
        let mut rest = positions;
        while !rest.is_empty() {
            step();
            let found = self.leases.find(rest);
            let found = found.map(|(run, lease)| (run, lease.is_with(instance)));
            let count = found.as_ref().map_or(1, |(run, _)| run.range.len());
            if let Some((run, true)) = found {
                self.leases.extend(&run, now);
            }
            rest = &rest[count..];
        }
    }

    /// Releases all leases of an instance that is gone: its events are redelivered. The rest of a portion is left to
    /// [`tick`](Self::tick).
    pub(crate) fn release(&mut self, instance: &InstanceId, now: Instant) -> Vec<Undelivered> {
        let before = self.leases.next_number();
        self.leases.end(instance, Leaving::Gone, before);
        self.end_leases(&mut Portion::new(), now)
    }

    /// Returns due mail to the waiting room: ended leases, expired leases and refused mail after its delay. Gives up
    /// mail that has waited too long. When the portion is used up, the rest is [due](Self::next_tick) at once.
    pub(crate) fn tick(&mut self, portion: &mut Portion, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = self.end_leases(portion, now);
        while !portion.is_used_up()
            && let Some(run) = self.leases.over(now)
        {
            let reason = "nobody acknowledged it in time";
            let given_up = self.give_back(&run, Duration::ZERO, reason, now);
            portion.batch();
            portion.given_up(given_up.len());
            undelivered.extend(given_up);
        }
        while !portion.is_used_up() && self.room.bring_next(now) {
            portion.batch();
        }
        while !portion.is_used_up()
            && let Some(batch) = self.room.pop_expired(now)
        {
            self.forget(&batch);
            portion.given_up(batch.len());
            undelivered.extend(batch.give_up(EXPIRED));
        }
        undelivered
    }

    /// Ends leases that instances have lost.
    fn end_leases(&mut self, portion: &mut Portion, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        while let Some((run, why)) = self.leases.next_to_end(portion) {
            let given_up = match why {
                Leaving::Gone => self.give_back(&run, Duration::ZERO, "its agent went away", now),
                Leaving::NotReceived => self.take_back(&run, now),
            };
            portion.batch();
            portion.given_up(given_up.len());
            undelivered.extend(given_up);
        }
        undelivered
    }

    /// Time of the next [`tick`](Self::tick) with work to do.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        let lost = self.leases.has_endings().then_some(self.born);
        let ends = lost.into_iter().chain(self.leases.next_end());
        ends.chain(self.room.next()).min()
    }

    /// Leases a waiting batch to an instance, and reserves its lane.
    fn hold(&mut self, batch: &mut Batch, instance: &InstanceId) -> lanes::LaneId {
        batch.last = Some(instance.clone());
        self.note(batch);
        self.room.hold(batch, instance)
    }

    fn end_lease(&mut self, run: &Run) -> Option<Batch> {
        let lease = self.leases.remove(run)?;
        let mut batch = lease.batch;
        batch.was_out = false;
        self.note(&batch);
        self.room.release(lease.lane, batch.len());
        Some(batch)
    }

    /// Marks delivery attempts as unrecorded.
    fn note(&mut self, batch: &Batch) {
        if let Some((first, last)) = batch.ends().filter(|_| self.logs_attempts) {
            self.unlogged_attempts.insert(first, last);
        }
    }

    /// Ends a lease without an acknowledgement: the mail waits again, or is given up.
    fn give_back(
        &mut self,
        run: &Run,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Vec<Undelivered> {
        let Some(batch) = self.end_lease(run) else {
            return Vec::new();
        };
        let was_tried_enough = batch.attempts >= self.bounds.max_attempts;
        if was_tried_enough || batch.expires() <= now {
            self.forget(&batch);
            let why = match was_tried_enough {
                true => format!("given up after {} deliveries: {reason}", batch.attempts),
                false => EXPIRED.to_owned(),
            };
            return batch.give_up(&why).collect();
        }
        match delay {
            Duration::ZERO => self.room.insert(batch),
            delay => self.room.delay(batch, now + delay),
        }
        Vec::new()
    }

    /// Uncounts mail that has left.
    fn forget(&mut self, batch: &Batch) {
        self.events -= batch.len();
        self.bytes -= batch.bytes();
        if let Some((first, last)) = batch.ends() {
            self.unlogged_attempts.remove(first, last);
        }
    }
}

#[cfg(test)]
mod tests;
