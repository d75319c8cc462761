//! What becomes of the deliveries of an instance that is back on another stream.

use std::time::Duration;

use tokio::time::Instant;

use super::{Mailbox, Portion, Reclaimed, Undelivered, batch::Run, leases::Leaving};
use crate::{id::InstanceId, log::Position, steps::step};

/// Claims that are looked at under one hold of the hub's lock.
const AT_ONCE: usize = 512;

/// The claims of an instance, as far as they were not looked at.
#[derive(Debug, Default)]
pub(crate) struct Reclaiming {
    /// In order.
    claimed: Vec<Position>,
    /// Those before this were looked at.
    done: usize,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// What it has is extended. The leases below this number are from before.
    Keep(Option<u64>),
    /// It gets what nobody else has.
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

    /// Whether it alone may take as long as a hold of the lock may.
    pub(crate) fn is_long(&self) -> bool {
        self.claimed.len() > AT_ONCE / 8
    }

    /// Whether nothing is left to be done.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Claim) && self.done == self.claimed.len()
    }

    /// The next claims.
    fn next(&mut self) -> &[Position] {
        let from = self.done;
        self.done = self.claimed.len().min(from + AT_ONCE);
        &self.claimed[from..self.done]
    }

    /// Whether there was a look at all claims in this phase.
    fn is_through(&self) -> bool {
        self.done == self.claimed.len()
    }
}

impl Mailbox {
    /// What the instance claims stays its own, or becomes so again; what it had and does not claim did not reach it, and is to be delivered
    /// again. Some claims are looked at each time, until all of that [is done](Reclaiming::is_done); what a portion does not do of what is to be
    /// delivered again is left to [`tick`](Self::tick).
    pub(crate) fn reclaim(
        &mut self,
        instance: &InstanceId,
        reclaiming: &mut Reclaiming,
        now: Instant,
    ) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        if let Phase::Keep(before) = reclaiming.phase {
            // The leases on these are others than before.
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

    /// Gives an instance what it claims and nobody else has.
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

    /// Deliveries to an instance did not leave the hub: they are to be made again, and were no tries.
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

    /// Ends a lease on what did not reach its instance: that was no try, unless the hub went away with it, as the mail may have been the
    /// reason.
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
