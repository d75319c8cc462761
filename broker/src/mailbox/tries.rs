//! What the log has of deliveries, so that a hub that comes back knows how often mail was tried, and who has it.

use tokio::time::Instant;

use super::{Mailbox, batch::Batch};
use crate::log::Try;

impl Mailbox {
    /// What has happened to deliveries that the log does not have, of about so many events.
    pub(crate) fn take_unlogged_attempts(&mut self, most: usize) -> Vec<Try> {
        let mut tries = Vec::new();
        while tries.len() < most
            && let Some((first, last)) = self.unlogged_attempts.pop_first()
        {
            let is_in = |t: &Try| (first..=last).contains(&t.position);
            let out = self.leases.between(first, last);
            tries.extend(out.flat_map(|batch| tries_of(batch, true)).filter(is_in));
            let waiting = self.room.between(first, last);
            let waiting = waiting.flat_map(|batch| tries_of(batch, batch.was_out));
            tries.extend(waiting.filter(is_in));
        }
        tries.sort_by_key(|t| t.position);
        tries
    }

    /// Whether there are [unlogged attempts](Self::take_unlogged_attempts).
    pub(crate) fn has_unlogged_attempts(&self) -> bool {
        !self.unlogged_attempts.is_empty()
    }

    /// All deliveries that there were of what it holds.
    pub(crate) fn tries(&self) -> Vec<Try> {
        let out = self.leases.iter().flat_map(|batch| tries_of(batch, true));
        let waiting = self.room.logged();
        let waiting = waiting.flat_map(|batch| tries_of(batch, batch.was_out));
        let mut tries: Vec<Try> = out.chain(waiting).collect();
        tries.sort_by_key(|t| t.position);
        tries
    }

    /// Takes in what the log has of a delivery.
    pub(crate) fn set_tried(&mut self, logged: &Try) {
        let Some(run) = self.room.find(&[logged.position]) else {
            return;
        };
        let batch = self.room.get(&run);
        if batch.is_some_and(|b| is_as(b, b.was_out, logged)) {
            return;
        }
        if let Some(mut batch) = self.room.remove(&run) {
            batch.attempts = logged.attempts;
            batch.last = Some(logged.instance.clone());
            batch.was_out = logged.is_out;
            self.room.insert(batch);
        }
    }

    /// What was out when the log ended is still with its instances: they may come back for it until then.
    pub(crate) fn resume(&mut self, until: Instant) {
        let was_out = self.room.logged().filter(|b| b.was_out);
        let runs: Vec<_> = was_out.filter_map(Batch::whole).collect();
        for run in runs {
            if let Some(mut batch) = self.room.remove(&run)
                && let Some(instance) = batch.last.clone()
            {
                let lane = self.hold(&mut batch, &instance);
                self.leases.insert_until(batch, lane, until);
            }
        }
        self.unlogged_attempts.clear();
    }
}

/// Whether the log has the same of a batch.
fn is_as(batch: &Batch, is_out: bool, logged: &Try) -> bool {
    batch.attempts == logged.attempts
        && batch.last.as_ref() == Some(&logged.instance)
        && is_out == logged.is_out
}

/// How often the events of a batch were delivered, and to whom last; none if they never were.
fn tries_of(batch: &Batch, is_out: bool) -> impl Iterator<Item = Try> {
    let last = batch.last.as_ref().into_iter();
    last.flat_map(move |instance| {
        batch.positions().iter().map(move |position| Try {
            position: *position,
            attempts: batch.attempts,
            instance: instance.clone(),
            is_out,
        })
    })
}
