//! Unused durable mailboxes of clients outside the directory: nobody can unregister them, so they are closed after a
//! long time without use.

use std::time::{Duration, SystemTime};

use super::{
    core::{Core, Now, hub},
    sweep::{Due, due},
};
use crate::{
    id::{AgentId, MailboxId},
    log::Entry,
    steps::step,
};

/// Mailboxes checked per acquisition of the lock.
const PAGE: usize = 256;

impl Core {
    /// Checks some mailboxes, at intervals.
    pub(super) fn close_unused_if_due(&mut self, now: Now) {
        if let Some(after) = self.unused.due(MailboxId(0), now.instant) {
            self.unused.after = self.close_unused(after, now);
        }
    }

    /// Checks some mailboxes. Returns the last one if there may be more.
    fn close_unused(&mut self, after: MailboxId, now: Now) -> Option<MailboxId> {
        let longest = self.settings.mailbox_age;
        let page = self.state.mailboxes.uses(after, PAGE);
        let is_full = page.len() == PAGE;
        let mut last = after;
        for (id, agent, used) in page {
            step();
            if self.state.registry.get(&agent).is_some() {
                last = id;
                continue;
            }
            let is_present = self.presence.has_instance(&agent);
            match due(used.unwrap_or(now.time), is_present, longest, now.time) {
                // A mailbox of an earlier release, without a record of its use, counts as used today.
                Due::Nothing if used.is_none() => self.note_use(id, now),
                Due::Nothing => {}
                Due::Note => self.note_use(id, now),
                Due::Close if self.close_mailbox(id, &agent, now) => {}
                // The next round continues with this one.
                Due::Close => return Some(last),
            }
            last = id;
        }
        is_full.then_some(last)
    }

    /// Records the use of a durable mailbox. Deferred on a full disk.
    pub(super) fn note_use(&mut self, id: MailboxId, now: Now) {
        if self.admit().is_err() {
            return;
        }
        let mailboxes = &self.state.mailboxes;
        let (Some((filter, ordered)), Some((agent, name))) =
            (mailboxes.durable(id), mailboxes.name_in_log(id))
        else {
            return;
        };
        let entry = Entry::Subscribed {
            agent: agent.clone(),
            name: name.to_owned(),
            filter: filter.clone(),
            claims: Vec::new(),
            ordered,
        };
        self.record(&hub(), entry, now);
    }

    /// Records the use of a mailbox, if the last record is old.
    pub(super) fn note_use_if_old(&mut self, id: MailboxId, now: Now) {
        let used = self
            .state
            .mailboxes
            .used(id)
            .unwrap_or(SystemTime::UNIX_EPOCH);
        if due(used, true, Duration::ZERO, now.time) == Due::Note {
            self.note_use(id, now);
        }
    }

    /// Closes a durable mailbox. First its mail is given up, some per acquisition of the lock. Returns whether it is
    /// closed.
    pub(super) fn close_mailbox(&mut self, id: MailboxId, agent: &AgentId, now: Now) -> bool {
        let reason = "its subscriber has not come for too long";
        let undelivered = self.state.mailboxes.give_up_some(id, reason);
        if !undelivered.is_empty() {
            self.give_up(undelivered, now);
            return false;
        }
        // The log must have the mailbox until its mail is in the dead letters.
        if !self.giving_up.is_done() {
            return false;
        }
        let Some((_, name)) = self.state.mailboxes.name_in_log(id) else {
            return true;
        };
        let name = name.to_owned();
        tracing::info!(%agent, name, "durable subscription ended: nobody came for it");
        let agent = agent.clone();
        self.record(&hub(), Entry::Unsubscribed { agent, name }, now);
        true
    }
}
