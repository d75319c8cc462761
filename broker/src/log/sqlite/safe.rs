//! Progress of durability, and free space: reported and stored.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{acknowledged::Acknowledged, reserve::Reserve};
use crate::log::{Commit, Position, commits::Committer};

/// The progress, see the module.
#[derive(Debug)]
pub(super) struct Safe {
    pub(super) committed: Committer,
    /// Last durable position.
    pub(super) last: u64,
    pub(super) acknowledged: Acknowledged,
    pub(super) reserve: Reserve,
}

pub(super) fn lock(safe: &Mutex<Safe>) -> MutexGuard<'_, Safe> {
    safe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Safe {
    /// Records are durable up to here.
    pub(super) fn advance(&mut self, last: u64) {
        self.last = last;
        self.acknowledged.advance(last);
        self.tell();
    }

    /// Reports the durable position. The disk counts as full while there is no space for the reserve.
    pub(super) fn tell(&mut self) {
        match self.reserve.make() {
            true => self.say(Commit::Upto(Position(self.last))),
            false => self.tell_full(),
        }
    }

    pub(super) fn tell_full(&self) {
        self.say(Commit::Full(Position(self.last)));
    }

    /// Reports a failure; later reports have no effect.
    pub(super) fn tell_failed(&self, reason: String) {
        self.say(Commit::Failed(reason));
    }

    fn say(&self, news: Commit) {
        let before = self.committed.latest();
        match (&before, &news) {
            (Commit::Upto(_), Commit::Full(_)) => tracing::error!(
                "the disk of the hub's log is full: nothing new is accepted until there is room"
            ),
            (Commit::Full(_), Commit::Upto(_)) => {
                tracing::info!("there is room again on the disk of the hub's log");
            }
            _ => {}
        }
        self.committed.announce(news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogId;

    /// promise 11
    #[test]
    fn a_log_that_has_failed_stays_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let marker = folder.path().join("marker");
        let committed = Committer::new(Commit::Upto(Position(1)));
        let said = committed.subscribe();
        let mut safe = Safe {
            committed,
            last: 1,
            acknowledged: Acknowledged::open(&marker, LogId::from_number(1)).expect("it opens"),
            reserve: Reserve::new(folder.path(), 1),
        };
        safe.advance(2);
        assert_eq!(*said.latest(), Commit::Upto(Position(2)));
        safe.tell_failed("so".to_owned());
        safe.tell_failed("otherwise".to_owned());
        safe.advance(3);
        safe.tell_full();
        assert_eq!(*said.latest(), Commit::Failed("so".to_owned()));
    }
}
