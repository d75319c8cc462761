//! What the log is told of deliveries, so that a hub that comes back knows how often mail was tried, and who has it.

use tokio::time::Instant;

use super::{Mailbox, waiting::Waiting};
use crate::log::{Position, Try};

impl Mailbox {
    /// What has happened to deliveries since this was asked last.
    pub(crate) fn untold(&mut self) -> Vec<Try> {
        let mut untold: Vec<Position> = self.untold.drain().collect();
        untold.sort_unstable();
        untold.into_iter().filter_map(|p| self.tried(p)).collect()
    }

    /// Whether there is something [untold](Self::untold).
    pub(crate) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// Nobody has to be told.
    pub(crate) fn forget_untold(&mut self) {
        self.untold.clear();
    }

    /// All deliveries that there were of what it holds.
    pub(crate) fn tries(&self) -> Vec<Try> {
        let out = self.leases.iter().map(|l| (&l.waiting, true));
        let waiting = self.room.iter().map(|w| (w, w.was_out));
        let all = waiting.chain(out);
        let lent = self.lent.leases().filter_map(|l| tried(&l.waiting, true));
        let tries = all.filter_map(|(w, is_out)| tried(w, is_out));
        let mut tries: Vec<Try> = tries.chain(lent).collect();
        tries.sort_by_key(|t| t.position);
        tries
    }

    /// Takes in what the log says of a delivery.
    pub(crate) fn set_tried(&mut self, told: &Try) {
        if self.tried(told.position).as_ref() == Some(told) {
            return;
        }
        if let Some(mut waiting) = self.room.remove(told.position) {
            waiting.attempts = told.attempts;
            waiting.last = Some(told.instance.clone());
            waiting.was_out = told.is_out;
            self.room.insert(waiting);
        }
    }

    /// What was out when the log ended is still with its instances: they may come back for it until then.
    pub(crate) fn resume(&mut self, until: Instant) {
        let was_out = self.room.iter().filter(|w| w.was_out);
        let mut positions: Vec<Position> = was_out.filter_map(|w| w.mail.position).collect();
        positions.sort();
        self.part();
        for position in positions {
            if let Some(waiting) = self.room.remove(position)
                && let Some(instance) = waiting.last.clone()
            {
                self.lease(waiting, position, &instance, until);
            }
        }
        self.forget_untold();
    }

    fn tried(&self, position: Position) -> Option<Try> {
        if let Some(lease) = self.leases.get(position) {
            return tried(&lease.waiting, true);
        }
        if let Some(lease) = self.lent.get(position) {
            return tried(&lease.waiting, true);
        }
        let waiting = self.room.get(position)?;
        tried(waiting, waiting.was_out)
    }
}

/// How often mail was delivered, and to whom last; `None` if it never was.
fn tried(waiting: &Waiting, is_out: bool) -> Option<Try> {
    Some(Try {
        position: waiting.mail.position?,
        attempts: waiting.attempts,
        instance: waiting.last.clone()?,
        is_out,
    })
}
