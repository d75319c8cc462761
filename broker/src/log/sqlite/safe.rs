//! How far the log is safe, and whether there is room: what is said of that, and noted.

use tokio::sync::watch;

use super::{acknowledged::Acknowledged, reserve::Reserve};
use crate::log::{Commit, Position};

/// See the module's description.
#[derive(Debug)]
pub(super) struct Safe {
    pub(super) committed: watch::Sender<Commit>,
    /// The last position that is safe.
    pub(super) last: u64,
    pub(super) acknowledged: Acknowledged,
    pub(super) reserve: Reserve,
}

impl Safe {
    /// Records are safe up to here.
    pub(super) fn advance(&mut self, last: u64) {
        self.last = last;
        self.acknowledged.advance(last);
        self.tell();
    }

    /// Says how far the log is safe. The disk counts as full as long as there is no room for the reserve.
    pub(super) fn tell(&mut self) {
        match self.reserve.make() {
            true => self.say(Commit::Upto(Position(self.last))),
            false => self.tell_full(),
        }
    }

    pub(super) fn tell_full(&self) {
        self.say(Commit::Full(Position(self.last)));
    }

    /// Says that nothing more becomes safe.
    pub(super) fn tell_failed(&self, reason: String) {
        self.committed.send_if_modified(|said| {
            let is_news = !matches!(said, Commit::Failed(_));
            if is_news {
                *said = Commit::Failed(reason);
            }
            is_news
        });
    }

    fn say(&self, news: Commit) {
        let was_full = matches!(*self.committed.borrow(), Commit::Full(_));
        match (was_full, &news) {
            (false, Commit::Full(_)) => tracing::error!(
                "the disk of the hub's log is full: nothing new is accepted until there is room"
            ),
            (true, Commit::Upto(_)) => {
                tracing::info!("there is room again on the disk of the hub's log");
            }
            _ => {}
        }
        self.committed.send_if_modified(|said| {
            let is_news = *said != news;
            *said = news;
            is_news
        });
    }
}
