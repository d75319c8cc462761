//! Directory snapshots in progress: each watcher's progress, and the changes that its snapshot already includes.
//!
//! A watcher takes the cards from the registry, a page at a time, and then the changes from its mailbox. A change is in
//! the registry before it reaches the mailboxes, which waits for the log. Changes are numbered, so that a page is known
//! to include those before it.

use std::collections::VecDeque;

use crate::{
    id::{AgentId, MailboxId},
    table::Table,
};

/// The snapshots, see the module.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// Directory changes so far.
    happened: u64,
    /// Number of them that have reached the mailboxes.
    delivered: u64,
    under_way: Table<MailboxId, Snapshot>,
}

#[derive(Debug)]
struct Snapshot {
    /// True if the mailbox may contain mail from before the snapshot, which comes first.
    waits: bool,
    /// Cards taken whose later changes all reach the mailbox.
    settled: Reach,
    /// Cards taken while changes were in progress, in order.
    pages: VecDeque<Page>,
}

#[derive(Debug)]
struct Page {
    upto: Reach,
    /// Number of changes at that time.
    changes: u64,
}

/// Progress of a snapshot, in order of agent ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Up to this agent.
    Agent(AgentId),
    /// Complete.
    End,
}

impl Reach {
    fn includes(&self, agent: &str) -> bool {
        match self {
            Self::Agent(upto) => *agent <= **upto,
            Self::End => true,
        }
    }
}

impl Snapshots {
    /// Counts a change. Watchers are notified after that.
    pub(crate) fn change(&mut self) {
        self.happened += 1;
    }

    /// Number of changes.
    pub(crate) fn happened(&self) -> u64 {
        self.happened
    }

    /// Begins a snapshot for a watcher, after the existing mail of its mailbox.
    pub(crate) fn begin(&mut self, mailbox: MailboxId, was_there: bool) {
        let snapshot = Snapshot {
            waits: was_there,
            settled: Reach::Agent("".into()),
            pages: VecDeque::new(),
        };
        self.under_way.insert(mailbox, snapshot);
    }

    /// Ends the snapshot of a mailbox.
    pub(super) fn end(&mut self, mailbox: MailboxId) {
        self.under_way.remove(&mailbox);
    }

    /// Handles an empty mailbox. Returns whether a snapshot was waiting for that.
    pub(crate) fn go_on(&mut self, mailbox: MailboxId) -> bool {
        let snapshot = self.under_way.get_mut(&mailbox);
        snapshot.is_some_and(|s| std::mem::take(&mut s.waits))
    }

    /// The agent after which a watcher's next cards come; `None` if none are to be taken now.
    pub(crate) fn cursor(&self, mailbox: MailboxId) -> Option<&AgentId> {
        let snapshot = self.under_way.get(&mailbox).filter(|s| !s.waits)?;
        match snapshot.pages.back().map_or(&snapshot.settled, |p| &p.upto) {
            Reach::Agent(agent) => Some(agent),
            Reach::End => None,
        }
    }

    /// Records that a watcher has taken the cards up to there.
    pub(crate) fn took(&mut self, mailbox: MailboxId, upto: Reach) {
        let (changes, delivered) = (self.happened, self.delivered);
        let Some(snapshot) = self.under_way.get_mut(&mailbox) else {
            return;
        };
        match snapshot.pages.back_mut() {
            Some(last) if last.changes == changes => last.upto = upto,
            _ => snapshot.pages.push_back(Page { upto, changes }),
        }
        if snapshot.settle(delivered) {
            self.end(mailbox);
        }
    }

    /// True if the snapshot of a watcher includes, or will include, an agent after this change.
    pub(super) fn shows(&self, mailbox: MailboxId, agent: &str, change: u64) -> bool {
        let Some(snapshot) = self.under_way.get(&mailbox) else {
            return false;
        };

        let page = || snapshot.pages.iter().find(|p| p.upto.includes(agent));
        !snapshot.settled.includes(agent) && page().is_none_or(|page| change <= page.changes)
    }

    /// Records that changes up to that number have reached the mailboxes.
    pub(super) fn delivered(&mut self, change: u64) {
        self.delivered = change;
        self.under_way.retain(|_, s| !s.settle(change));
    }
}

impl Snapshot {
    /// Merges pages whose changes have been delivered. Returns whether nothing is left of the snapshot.
    fn settle(&mut self, delivered: u64) -> bool {
        while let Some(page) = self.pages.pop_front_if(|p| p.changes <= delivered) {
            self.settled = page.upto;
        }
        self.settled == Reach::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATCHER: MailboxId = MailboxId(1);

    fn upto(agent: &str) -> Reach {
        Reach::Agent(agent.into())
    }

    #[test]
    fn a_page_shows_the_changes_before_it() {
        let mut snapshots = Snapshots::default();
        snapshots.begin(WATCHER, false);
        snapshots.change();
        assert!(snapshots.shows(WATCHER, "a", 1), "it comes with its card");
        snapshots.took(WATCHER, upto("b"));
        snapshots.change();
        snapshots.took(WATCHER, upto("d"));
        assert!(snapshots.shows(WATCHER, "a", 1));
        assert!(!snapshots.shows(WATCHER, "a", 2), "its card came before");
        assert!(snapshots.shows(WATCHER, "c", 2));
        assert!(snapshots.shows(WATCHER, "e", 2));
        assert_eq!(snapshots.cursor(WATCHER), Some(&"d".into()));
        snapshots.delivered(1);
        assert!(!snapshots.shows(WATCHER, "a", 2));
        assert!(snapshots.shows(WATCHER, "c", 2));

        snapshots.took(WATCHER, Reach::End);
        assert_eq!(snapshots.cursor(WATCHER), None);
        assert!(snapshots.shows(WATCHER, "e", 2));
        snapshots.change();
        assert!(!snapshots.shows(WATCHER, "e", 3));
        snapshots.delivered(2);
        assert!(snapshots.under_way.is_empty(), "all that it showed is out");
    }

    /// The state of a snapshot grows with the changes that are not durable yet, not with the directory.
    #[test]
    fn pages_between_which_nothing_changed_are_one() {
        let mut snapshots = Snapshots::default();
        snapshots.change();
        snapshots.begin(WATCHER, false);
        for n in 0..1_000 {
            snapshots.took(WATCHER, upto(&format!("{n:04}")));
        }
        assert_eq!(snapshots.under_way[&WATCHER].pages.len(), 1);
        snapshots.delivered(1);
        assert_eq!(snapshots.under_way[&WATCHER].pages.len(), 0);
        assert_eq!(snapshots.cursor(WATCHER), Some(&"0999".into()));
        snapshots.took(WATCHER, Reach::End);
        assert!(snapshots.under_way.is_empty());
    }

    #[test]
    fn what_a_mailbox_holds_comes_before_its_snapshot() {
        let mut snapshots = Snapshots::default();
        snapshots.begin(WATCHER, true);
        assert_eq!(snapshots.cursor(WATCHER), None);
        assert!(snapshots.go_on(WATCHER));
        assert!(!snapshots.go_on(WATCHER));
        assert_eq!(snapshots.cursor(WATCHER), Some(&"".into()));
    }
}
