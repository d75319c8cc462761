//! Records of delivery attempts: their number, the lease's holder, and superseded holders.

use std::time::Duration;

use super::core::{Core, Now, hub};
use crate::{log::Entry, mailbox::HandOver};

/// Interval of the records: a crash may lose the attempts since the last one.
const EVERY: Duration = Duration::from_millis(500);

/// Deliveries per record.
const PORTION: usize = 5_000;

impl Core {
    /// Records delivery attempts at intervals, a portion at a time. Acknowledged deliveries need no record.
    pub(super) fn tell_tries_if_due(&mut self, now: Now) {
        if self.tries_told.is_none_or(|at| now.instant >= at + EVERY) && self.log.admit().is_ok() {
            self.tell_some_tries(now);
            let has_more = self.state.mailboxes.has_unlogged_attempts();
            self.tries_told = (!has_more).then_some(now.instant);
        }
    }

    /// Records all delivery attempts. Deferred on a full disk.
    pub(super) fn tell_tries(&mut self, now: Now) {
        if self.log.admit().is_err() {
            return;
        }
        self.tries_told = Some(now.instant);
        while self.state.mailboxes.has_unlogged_attempts() {
            self.tell_some_tries(now);
        }
    }

    fn tell_some_tries(&mut self, now: Now) {
        for (agent, name, tries) in self.state.mailboxes.take_unlogged_attempts(PORTION) {
            self.record(&hub(), Entry::Tried { agent, name, tries }, now);
        }
    }

    /// Records that tasks have changed hands: from now on, results of the previous instance are refused, also after a
    /// crash.
    pub(super) fn hand_over(&mut self, changes: &[HandOver], now: Now) {
        let late = self.settings.late_artifacts;
        for change in changes {
            if let Some((task, instances)) = self.state.superseded.hand_over(change) {
                // A settled or unknown task accepts nothing any more.
                let known = self.state.tasks.get(&task);
                if !known.is_some_and(|t| t.can_change(now.time, late)) {
                    continue;
                }
                let agent = change.mail.recipient.clone();
                let entry = Entry::Superseded {
                    agent,
                    task,
                    instances,
                };
                self.record(&hub(), entry, now);
            }
        }
        if !changes.is_empty() {
            self.tell_tries(now);
        }
    }
}
