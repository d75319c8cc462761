//! Read barrier: waits until everything read so far is durable, so that a crash takes nothing back that was answered.

use super::Hub;
use crate::log::{Commits, Position};

impl Hub {
    /// Waits until everything read so far is durable. Does not wait on a disk that is full or has failed: reads
    /// continue there.
    pub(crate) async fn settled(&self) {
        let last = self.core().last();
        settled(self.commits(), last).await;
    }
}

async fn settled(commits: &Commits, last: Position) {
    // After a failure there is nothing to wait for.
    let _ = commits.safe_or_full(last).await;
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::log::{Commit, Committer};

    fn is_settled(commit: Commit) -> bool {
        let log = Committer::new(commit);
        settled(&log.subscribe(), Position(2))
            .now_or_never()
            .is_some()
    }

    /// A result is answered once it is durable: a killed hub may not have it afterwards.
    #[test]
    fn a_read_waits_for_the_log_but_not_for_a_broken_disk() {
        assert!(!is_settled(Commit::Upto(Position(1))));
        assert!(is_settled(Commit::Upto(Position(2))));
        assert!(is_settled(Commit::Full(Position(1))));
        assert!(is_settled(Commit::Failed("broken".to_owned())));
    }
}
