//! Answering only with what a crash does not take back.

use tokio::sync::watch;

use super::Hub;
use crate::log::{Commit, Position};

impl Hub {
    /// Waits until what was read before is safe, so that nobody acts on a result that is gone after a crash. On a disk that is full or
    /// has failed it does not wait: reads go on there.
    pub(crate) async fn settled(&self) {
        let last = self.core().last();
        settled(self.commits(), last).await;
    }
}

async fn settled(mut commits: watch::Receiver<Commit>, last: Position) {
    let is_open = |commit: &Commit| matches!(commit, Commit::Upto(safe) if *safe < last);
    // An error says that there is no log any more, and nothing to wait for.
    let _ = commits.wait_for(|commit| !is_open(commit)).await;
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_settled(commit: Commit) -> bool {
        let (_commits, commits) = watch::channel(commit);
        settled(commits, Position(2)).now_or_never().is_some()
    }

    /// What a task has come to is told once it is safe: a hub that is killed may not know of it afterwards.
    #[test]
    fn a_read_waits_for_the_log_but_not_for_a_broken_disk() {
        assert!(!is_settled(Commit::Upto(Position(1))));
        assert!(is_settled(Commit::Upto(Position(2))));
        assert!(is_settled(Commit::Full(Position(1))));
        assert!(is_settled(Commit::Failed("broken".to_owned())));
    }
}
