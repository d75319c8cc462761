//! Reclaiming: deliveries of an instance that reconnects on another stream.

use std::time::Duration;

use tokio::time::Instant;

use super::{Mailbox, Portion, Reclaimed, Undelivered, batch::Run, leases::Leaving};
use crate::{id::InstanceId, log::Position, steps::step};

/// Claims processed per acquisition of the hub's lock.
const AT_ONCE: usize = 512;

/// Claims of an instance, as far as not processed yet.
#[derive(Debug, Default)]
pub(crate) struct Reclaiming {
    /// In order.
    claimed: Vec<Position>,
    /// Number of processed ones in this phase.
    done: usize,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Extends the leases it still has. Leases below this number are from before.
    Keep(Option<u64>),
    /// Leases claimed mail that nobody else has.
    Claim,
}

impl Default for Phase {
    fn default() -> Self {
        Self::Keep(None)
    }
}

impl Reclaiming {
    pub(crate) fn new(mut claimed: Vec<Position>) -> Self {
        claimed.sort_unstable();
        claimed.dedup();
        Self {
            claimed,
            ..Self::default()
        }
    }

    /// True if it may use a whole acquisition of the lock.
    pub(crate) fn is_long(&self) -> bool {
        self.claimed.len() > AT_ONCE / 8
    }

    /// True if all claims were processed.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Claim) && self.done == self.claimed.len()
    }

    /// The next claims.
    fn next(&mut self) -> &[Position] {
        let from = self.done;
        self.done = self.claimed.len().min(from + AT_ONCE);
        &self.claimed[from..self.done]
    }

    /// True if all claims were processed in this phase.
    fn is_through(&self) -> bool {
        self.done == self.claimed.len()
    }
}

impl Mailbox {
    /// Leases the claimed mail to the instance again; its other leases end, because the mail did not reach it, and are
    /// redelivered. Processes some claims per call, until [done](Reclaiming::is_done); the rest of a portion is left to
    /// [`tick`](Self::tick).
    pub(crate) fn reclaim(
        &mut self,
        instance: &InstanceId,
        reclaiming: &mut Reclaiming,
        now: Instant,
    ) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        if let Phase::Keep(before) = reclaiming.phase {
            // Leases made from here on have higher numbers.
            let before = before.unwrap_or_else(|| self.leases.next_number());
            reclaiming.phase = Phase::Keep(Some(before));
            self.extend(reclaiming.next(), instance, now);
            if !reclaiming.is_through() {
                return reclaimed;
            }
            self.leases.end(instance, Leaving::NotReceived, before);
            reclaimed.given_up = self.end_leases(&mut Portion::new(), now);
            let was_all = reclaiming.claimed.len() <= AT_ONCE;
            reclaiming.phase = Phase::Claim;
            reclaiming.done = 0;
            if !was_all {
                return reclaimed;
            }
        }
        reclaimed.handed_over = self.claim(reclaiming.next(), instance, now);
        reclaimed
    }

    /// Leases claimed mail that nobody else has.
    fn claim(
        &mut self,
        claimed: &[Position],
        instance: &InstanceId,
        now: Instant,
    ) -> Vec<super::HandOver> {
        let mut handed_over = Vec::new();
        let mut rest = claimed;
        while !rest.is_empty() {
            step();
            let mut count = 1;
            if let Some((run, lease)) = self.leases.find(rest) {
                count = run.range.len();
                if let Some(holder) = lease.batch.last.as_ref().filter(|last| *last != instance) {
                    let (_, claimed) = lease.batch.clone().cut(run.range);
                    handed_over.extend(claimed.hand_over(instance, holder));
                }
            } else if let Some(run) = self.room.find(rest)
                && let Some(mut batch) = self.room.remove(&run)
            {
                count = run.range.len();
                batch.attempts = batch.attempts.max(1);
                handed_over.extend(batch.hand_over_to(instance));
                let lane = self.hold(&mut batch, instance);
                self.leases.insert(batch, lane, now);
            }
            rest = &rest[count..];
        }
        handed_over
    }

    /// Undoes deliveries to an instance that did not leave the hub: they do not count as attempts.
    pub(crate) fn undo(&mut self, positions: &[Position], instance: &InstanceId, now: Instant) {
        let mut rest = positions;
        while !rest.is_empty() {
            let found = self.leases.find(rest);
            let found = found.map(|(run, lease)| (run, lease.is_with(instance)));
            let count = found.as_ref().map_or(1, |(run, _)| run.range.len());
            if let Some((run, true)) = found {
                self.take_back(&run, now);
            }
            rest = &rest[count..];
        }
    }

    /// Ends a lease on mail that did not reach its instance. It does not count as an attempt, unless the hub crashed
    /// meanwhile, possibly because of the mail.
    pub(super) fn take_back(&mut self, run: &Run, now: Instant) -> Vec<Undelivered> {
        if self
            .leases
            .get(run)
            .is_some_and(|lease| lease.batch.was_out)
        {
            let reason = "the hub went away while it was delivered";
            return self.give_back(run, Duration::ZERO, reason, now);
        }
        if let Some(mut batch) = self.end_lease(run) {
            batch.attempts = batch.attempts.saturating_sub(1);
            self.room.insert(batch);
        }
        Vec::new()
    }
}
