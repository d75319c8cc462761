//! Delivery attempts in the log, so that a restarted hub knows the number of attempts and the lease holders.

use tokio::time::Instant;

use super::{Mailbox, batch::Batch};
use crate::log::Try;

impl Mailbox {
    /// Unrecorded delivery attempts, of about `most` events.
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

    /// True if there are [unlogged attempts](Self::take_unlogged_attempts).
    pub(crate) fn has_unlogged_attempts(&self) -> bool {
        !self.unlogged_attempts.is_empty()
    }

    /// Delivery attempts of all mail in the mailbox.
    pub(crate) fn tries(&self) -> Vec<Try> {
        let out = self.leases.iter().flat_map(|batch| tries_of(batch, true));
        let waiting = self.room.logged();
        let waiting = waiting.flat_map(|batch| tries_of(batch, batch.was_out));
        let mut tries: Vec<Try> = out.chain(waiting).collect();
        tries.sort_by_key(|t| t.position);
        tries
    }

    /// Restores a recorded delivery attempt.
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

    /// Restores the leases at the end of the log: their instances may reconnect until then.
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

/// True if the log has the same for a batch.
fn is_as(batch: &Batch, is_out: bool, logged: &Try) -> bool {
    batch.attempts == logged.attempts
        && batch.last.as_ref() == Some(&logged.instance)
        && is_out == logged.is_out
}

/// Delivery attempts of a batch; empty if it was never delivered.
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
