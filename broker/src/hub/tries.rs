//! What the log is told of deliveries: how often each was tried, who has it, and who has lost it.

use std::time::Duration;

use super::core::{Core, Now, hub};
use crate::{log::Entry, mailbox::HandOver};

/// How much of what happened to deliveries a crash may take back.
const EVERY: Duration = Duration::from_millis(500);

/// Deliveries that the log is told of at a time.
const PORTION: usize = 5_000;

impl Core {
    /// Tells the log of deliveries, now and then, and of no more than a portion at a time. What was acknowledged meanwhile it need not know.
    pub(super) fn tell_tries_if_due(&mut self, now: Now) {
        if self.tries_told.is_none_or(|at| now.instant >= at + EVERY) && self.log.admit().is_ok() {
            self.tell_some_tries(now);
            let has_more = self.state.mailboxes.has_unlogged_attempts();
            self.tries_told = (!has_more).then_some(now.instant);
        }
    }

    /// Tells the log of all deliveries. On a full disk that is put off.
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

    /// Tasks have gone from one instance to another: from here on, what the first sends for them is refused, also after a crash.
    pub(super) fn hand_over(&mut self, changes: &[HandOver], now: Now) {
        let late = self.settings.late_artifacts;
        for change in changes {
            if let Some((task, instances)) = self.state.superseded.hand_over(change) {
                // Nobody can send anything for one that has settled or is not known.
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
