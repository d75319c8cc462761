//! The durable end of a log, and waits for a position: a commit wakes only the waits that it completes.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use tokio::sync::watch;

use super::Position;
use crate::Error;

/// State of commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// Every record up to here is durable, as far as the adapter promises.
    Upto(Position),
    /// The same on a full disk: only consequences of earlier records are accepted.
    Full(Position),
    /// The content of the disk is unknown: the process has to end.
    Failed(String),
}

impl Commit {
    /// The last durable position; `None` after a failure.
    pub(crate) fn position(&self) -> Option<Position> {
        match self {
            Self::Upto(position) | Self::Full(position) => Some(*position),
            Self::Failed(_) => None,
        }
    }

    /// Checks that new work can be accepted, regardless of the backlog.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`] while the disk is full, [`Error::Unavailable`] once the log has failed.
    pub(crate) fn admit(&self) -> Result<(), Error> {
        match self {
            Self::Upto(_) => Ok(()),
            Self::Full(_) => Err(Error::ResourceExhausted(
                "the disk of the hub's log is full: make room in its data folder; nothing is accepted until then".to_owned(),
            )),
            Self::Failed(_) => self.admit_accepted(),
        }
    }

    /// Checks that accepted work can continue, regardless of the backlog.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] once the log has failed.
    pub(crate) fn admit_accepted(&self) -> Result<(), Error> {
        match self {
            Self::Upto(_) | Self::Full(_) => Ok(()),
            Self::Failed(reason) => Err(Error::Unavailable(format!(
                "the hub's log has failed ({reason}): the hub has to be started again"
            ))),
        }
    }
}

/// Error: the log failed before the position was durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log has failed")]
pub(crate) struct Failed;

/// Announces the commits of a log. Dropping it counts as a failure.
#[derive(Debug)]
pub(crate) struct Committer {
    said: watch::Sender<Commit>,
    waiters: Arc<Mutex<Waiters>>,
}

/// Follows the commits of a log. Clones follow the same log.
#[derive(Clone, Debug)]
pub(crate) struct Commits {
    said: watch::Receiver<Commit>,
    waiters: Arc<Mutex<Waiters>>,
}

impl Committer {
    pub(crate) fn new(first: Commit) -> Self {
        Self {
            said: watch::Sender::new(first),
            waiters: Arc::default(),
        }
    }

    /// The latest commit.
    pub(crate) fn latest(&self) -> Commit {
        self.said.borrow().clone()
    }

    pub(crate) fn subscribe(&self) -> Commits {
        Commits {
            said: self.said.subscribe(),
            waiters: self.waiters.clone(),
        }
    }

    /// Announces a commit, and wakes the completed waits in the order of their positions. A failure is final.
    pub(crate) fn announce(&self, commit: Commit) {
        let is_news = self.said.send_if_modified(|said| {
            let is_news = *said != commit && !matches!(said, Commit::Failed(_));
            if is_news {
                said.clone_from(&commit);
            }
            is_news
        });
        if is_news {
            let woken = lock(&self.waiters).release(&commit);
            woken.into_iter().for_each(Waker::wake);
        }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.announce(Commit::Failed("it has ended".to_owned()));
    }
}

impl Commits {
    /// The latest commit, locked for writing while the guard lives.
    pub(crate) fn latest(&self) -> watch::Ref<'_, Commit> {
        self.said.borrow()
    }

    /// Waits for a new commit; `None` once the log is gone.
    pub(crate) async fn next(&mut self) -> Option<Commit> {
        self.said.changed().await.ok()?;
        Some(self.said.borrow_and_update().clone())
    }

    /// Waits until everything up to a position is durable.
    pub(crate) fn safe(&self, position: Position) -> Wait {
        self.wait(position, Until::Safe)
    }

    /// The same, but completes on a full disk.
    pub(crate) fn safe_or_full(&self, position: Position) -> Wait {
        self.wait(position, Until::SafeOrFull)
    }

    fn wait(&self, position: Position, until: Until) -> Wait {
        Wait {
            commits: self.clone(),
            position,
            until,
            number: None,
        }
    }
}

/// Additional condition that completes a wait, besides a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Safe,
    SafeOrFull,
}

/// A wait for a position. Dropping it cancels the wait.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Wait {
    commits: Commits,
    position: Position,
    until: Until,
    /// Number of its registered waker.
    number: Option<u64>,
}

impl Wait {
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    fn outcome(&self) -> Option<Result<(), Failed>> {
        match &*self.commits.said.borrow() {
            Commit::Failed(_) => Some(Err(Failed)),
            Commit::Full(_) if self.until == Until::SafeOrFull => Some(Ok(())),
            Commit::Upto(safe) | Commit::Full(safe) => (*safe >= self.position).then_some(Ok(())),
        }
    }
}

impl Future for Wait {
    type Output = Result<(), Failed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(outcome) = this.outcome() {
            return Poll::Ready(outcome);
        }
        let mut waiters = lock(&this.commits.waiters);
        // Checked again after registering the waker, so that no commit in between is missed.
        if let Some(outcome) = this.outcome() {
            return Poll::Ready(outcome);
        }
        let number = *this.number.get_or_insert_with(|| waiters.number());
        let wakers = waiters.of(this.until);
        let waker = wakers.entry((this.position, number));
        waker
            .and_modify(|waker| waker.clone_from(cx.waker()))
            .or_insert_with(|| cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut waiters = lock(&self.commits.waiters);
            waiters.of(self.until).remove(&(self.position, number));
        }
    }
}

/// Wakers by position, in the order of their registration.
type Wakers = BTreeMap<(Position, u64), Waker>;

#[derive(Debug, Default)]
struct Waiters {
    safe: Wakers,
    safe_or_full: Wakers,
    next: u64,
}

impl Waiters {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn of(&mut self, until: Until) -> &mut Wakers {
        match until {
            Until::Safe => &mut self.safe,
            Until::SafeOrFull => &mut self.safe_or_full,
        }
    }

    /// Removes the wakers whose wait a commit completes.
    fn release(&mut self, commit: &Commit) -> Vec<Waker> {
        let all = Position(u64::MAX);
        let (safe, safe_or_full) = match commit {
            Commit::Upto(position) => (*position, *position),
            Commit::Full(position) => (*position, all),
            Commit::Failed(_) => (all, all),
        };
        let mut woken = Vec::new();
        for (wakers, upto) in [
            (&mut self.safe, safe),
            (&mut self.safe_or_full, safe_or_full),
        ] {
            while let Some(first) = wakers.first_entry().filter(|e| e.key().0 <= upto) {
                woken.push(first.remove());
            }
        }
        woken
    }
}

fn lock(waiters: &Mutex<Waiters>) -> MutexGuard<'_, Waiters> {
    waiters.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use futures_util::FutureExt;

    use super::*;

    /// Records the order in which wakers are called.
    struct Noting {
        name: u64,
        woken: Arc<Mutex<Vec<u64>>>,
    }

    impl Wake for Noting {
        fn wake(self: Arc<Self>) {
            self.woken.lock().expect("one thread").push(self.name);
        }
    }

    /// Polls a wait with a waker of that name. Returns its outcome, if it has completed.
    fn poll(
        wait: &mut Wait,
        name: u64,
        woken: &Arc<Mutex<Vec<u64>>>,
    ) -> Option<Result<(), Failed>> {
        let woken = woken.clone();
        let waker = Waker::from(Arc::new(Noting { name, woken }));
        match wait.poll_unpin(&mut Context::from_waker(&waker)) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }

    fn committer() -> Committer {
        Committer::new(Commit::Upto(Position(0)))
    }

    fn upto(position: u64) -> Commit {
        Commit::Upto(Position(position))
    }

    #[test]
    fn a_commit_wakes_those_whose_position_it_reaches_in_their_order() {
        let committer = committer();
        let commits = committer.subscribe();
        let woken = Arc::default();
        let mut waits: Vec<(u64, Wait)> = (1..=1_000)
            .rev()
            .map(|p| (p, commits.safe(Position(p))))
            .collect();
        for (position, wait) in &mut waits {
            assert_eq!(poll(wait, *position, &woken), None);
        }
        let take = || std::mem::take(&mut *woken.lock().expect("one thread"));
        committer.announce(upto(3));
        assert_eq!(take(), [1, 2, 3]);
        committer.announce(upto(3));
        assert!(take().is_empty());
        waits.retain(|(position, _)| *position != 5);
        committer.announce(upto(6));
        assert_eq!(take(), [4, 6], "a wait that was dropped is not woken");
        for (position, wait) in &mut waits {
            let outcome = (*position <= 6).then_some(Ok(()));
            assert_eq!(poll(wait, *position, &woken), outcome);
        }
        drop(waits);
        assert!(lock(&commits.waiters).safe.is_empty());
    }

    #[test]
    fn a_failure_ends_every_wait_and_a_full_disk_only_those_that_it_may() {
        let committer = committer();
        let commits = committer.subscribe();
        let woken = Arc::default();
        let mut strict = commits.safe(Position(2));
        let mut lenient = commits.safe_or_full(Position(2));
        assert_eq!(poll(&mut strict, 1, &woken), None);
        assert_eq!(poll(&mut lenient, 2, &woken), None);
        committer.announce(Commit::Full(Position(1)));
        assert_eq!(*woken.lock().expect("one thread"), [2]);
        assert_eq!(poll(&mut strict, 1, &woken), None);
        assert_eq!(poll(&mut lenient, 2, &woken), Some(Ok(())));
        drop(committer);
        assert_eq!(*woken.lock().expect("one thread"), [2, 1]);
        assert_eq!(poll(&mut strict, 1, &woken), Some(Err(Failed)));
    }

    /// promise 11
    #[test]
    fn a_log_that_has_failed_stays_so() {
        let committer = committer();
        committer.announce(Commit::Failed("a reason".to_owned()));
        committer.announce(Commit::Failed("another".to_owned()));
        committer.announce(upto(1));
        assert_eq!(committer.latest(), Commit::Failed("a reason".to_owned()));
    }
}
