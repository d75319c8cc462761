//! What becomes of the deliveries of an instance that is back on another stream.

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use super::{Mailbox, Portion, Reclaimed, Undelivered, batch::Run, leases::Leaving};
use crate::{id::InstanceId, log::Position};

impl Mailbox {
    /// What the instance claims stays its own, or becomes so again; what it had and does not claim did not reach it, and is to be delivered
    /// again. What a portion does not do of that is left to [`tick`](Self::tick).
    pub(crate) fn reclaim(
        &mut self,
        instance: &InstanceId,
        claimed: &HashSet<Position>,
        now: Instant,
    ) -> Reclaimed {
        let before = self.leases.next_number();
        let mut claimed: Vec<Position> = claimed.iter().copied().collect();
        claimed.sort_unstable();
        // The leases on these are others than before.
        self.extend(&claimed, instance, now);
        self.leases.end(instance, Leaving::NotReceived, before);
        Reclaimed {
            given_up: self.end_leases(&mut Portion::new(), now),
            handed_over: self.claim(&claimed, instance, now),
        }
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
