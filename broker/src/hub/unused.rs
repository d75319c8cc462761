//! Durable mailboxes of clients that are not in the directory: nobody can unregister them, so they end when nobody came for long.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::core::{Core, Now, hub};
use crate::{
    id::{AgentId, MailboxId},
    log::Entry,
    steps::step,
};

/// How often they are looked at.
const EVERY: Duration = Duration::from_secs(600);
/// Mailboxes that are looked at under one hold of the lock.
const PAGE: usize = 256;
/// How exactly the log knows when somebody was there last.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What is to be done about a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    /// The log is told that it is used.
    Note,
    /// It ends.
    Close,
}

/// Decides by when the log was last told that it is used, and whether somebody is there.
fn due(used: SystemTime, is_present: bool, longest: Duration, now: SystemTime) -> Due {
    let unused = now.duration_since(used).unwrap_or_default();
    match is_present {
        true if unused >= DAY => Due::Note,
        false if unused >= longest + DAY => Due::Close,
        _ => Due::Nothing,
    }
}

/// Where looking at mailboxes goes on.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// When the next round begins.
    next: Option<Instant>,
    /// The mailbox that was looked at last, while a round is under way.
    after: Option<MailboxId>,
}

impl Core {
    /// Looks at the mailboxes now and then, a few at a time. A hub that has just started waits: its clients may be on their way back.
    pub(super) fn close_unused_if_due(&mut self, now: Now) {
        let next = *self.unused.next.get_or_insert(now.instant + EVERY);
        if self.unused.after.is_none() && now.instant >= next {
            self.unused.next = Some(now.instant + EVERY);
            self.unused.after = Some(MailboxId(0));
        }
        if let Some(after) = self.unused.after {
            self.unused.after = self.close_unused(after, now);
        }
    }

    /// Looks at some mailboxes. Returns the last of them if there may be more.
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
                // One of an earlier release, of which nothing is known, counts as used today.
                Due::Nothing if used.is_none() => self.note_use(id, now),
                Due::Nothing => {}
                Due::Note => self.note_use(id, now),
                Due::Close if self.close_mailbox(id, &agent, now) => {}
                // It goes on with this one.
                Due::Close => return Some(last),
            }
            last = id;
        }
        is_full.then_some(last)
    }

    /// Tells the log that a durable mailbox is used. On a full disk that is put off.
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

    /// Notes the use of a mailbox whose last one is long ago.
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

    /// Ends a durable mailbox. What is in it is given up first, some under each hold of the lock. Returns whether it has ended.
    fn close_mailbox(&mut self, id: MailboxId, agent: &AgentId, now: Now) -> bool {
        let reason = "its subscriber has not come for too long";
        let undelivered = self.state.mailboxes.give_up_some(id, reason);
        if !undelivered.is_empty() {
            self.give_up(undelivered, now);
            return false;
        }
        // Until its mail is in the dead letters, the log has to have the mailbox.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// promise 10
    #[test]
    fn a_mailbox_ends_after_its_time_without_anybody() {
        let week = 7 * DAY;
        let now = SystemTime::UNIX_EPOCH + 100 * DAY;
        let due = |ago, is_present| due(now - ago, is_present, week, now);
        assert_eq!(
            due(week, false),
            Due::Nothing,
            "it may have been used since"
        );
        assert_eq!(due(week + DAY, false), Due::Close);
        assert_eq!(due(week + DAY, true), Due::Note);
        assert_eq!(due(DAY / 2, true), Due::Nothing);
    }
}
