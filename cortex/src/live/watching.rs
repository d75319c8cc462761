//! Watchers of runs: whoever waits for a run's next event is woken by the write of it in this process.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::runs::{
    Journal, RunEvent, RunId,
    journal::{Claim, JournalDecorator, JournalError, OpenedRun},
};
use async_trait::async_trait;
use tokio::{sync::watch, time::timeout};

use super::LiveRuns;

/// Interval at which events of other processes are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl LiveRuns {
    /// A run has events up to this one.
    pub(crate) fn written(&self, run: &RunId, seq: u64) {
        if let Some(live) = self.lock().runs.get(run) {
            live.last.send_if_modified(|last| {
                let is_news = *last < seq;
                *last = seq.max(*last);
                is_news
            });
        }
    }

    /// Watches a run.
    pub fn watch(&self, run: &RunId) -> Watched {
        Watched {
            last: self.lock().run(run).last.subscribe(),
            live: self.clone(),
            run: run.clone(),
        }
    }
}

/// A watched run.
#[derive(Debug)]
pub struct Watched {
    last: watch::Receiver<u64>,
    live: LiveRuns,
    run: RunId,
}

impl Watched {
    /// Waits until there may be events behind the one at `after`.
    pub async fn more_than(&mut self, after: u64) {
        // Whoever drives it elsewhere wakes nobody here.
        let _ = timeout(LOOK_AGAIN, self.last.wait_for(|last| *last > after)).await;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut state = self.live.lock();
        // This one does not count any more.
        self.last = watch::Sender::default().subscribe();
        state.settle(&self.run);
    }
}

/// A journal that tells the registry of what is written down: it wakes those who watch, and ends what is over.
#[derive(Debug)]
pub(crate) struct WatchedJournal {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) live: LiveRuns,
}

#[async_trait]
impl JournalDecorator for WatchedJournal {
    fn inner(&self) -> &dyn Journal {
        &*self.journal
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        let opened = self.journal.open(run, owner, claim, first).await?;
        self.live.written(run, opened.last);
        Ok(opened)
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        self.journal.append(run, epoch, after, events).await?;
        self.live.written(run, after + events.len() as u64);
        if matches!(events.last(), Some(RunEvent::Ended { .. })) {
            self.live.is_over(run);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, RunOutcome, RunStarted, Spent, journal::MemoryJournal};
    use serde_json::Value;
    use tokio::time::Instant;

    use super::*;

    const CLAIM: Claim<'_> = Claim {
        driver: "d",
        lease: Duration::from_secs(15),
    };

    fn started() -> RunEvent {
        RunEvent::Started(RunStarted {
            strategy: "s".to_owned(),
            input: Value::Null,
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 0,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn who_watches_is_woken_by_what_is_written() {
        let live = LiveRuns::default();
        let journal: Arc<dyn Journal> = Arc::new(WatchedJournal {
            journal: Arc::new(MemoryJournal::default()),
            live: live.clone(),
        });
        let run = RunId::new("r");
        let mut watched = live.watch(&run);
        let began = Instant::now();
        let write = async {
            let opened = journal.open(&run, "o", CLAIM, &[started()]).await;
            opened.expect("it is new").epoch
        };
        let ((), epoch) = tokio::join!(watched.more_than(0), write);
        let noted = [started(), started()];
        let write = journal.append(&run, epoch, 1, &noted);
        let ((), written) = tokio::join!(watched.more_than(2), write);
        written.expect("it is this driver's");
        watched.more_than(2).await;
        assert_eq!(began.elapsed(), Duration::ZERO, "nothing was waited for");
        watched.more_than(3).await;
        assert_eq!(began.elapsed(), LOOK_AGAIN, "there may be more elsewhere");
    }

    #[test]
    fn nothing_is_kept_of_runs_that_nobody_watches() {
        let live = LiveRuns::default();
        let run = RunId::new("r");
        let (one, two) = (live.watch(&run), live.watch(&run));
        drop(one);
        assert_eq!(live.lock().runs.len(), 1);
        drop(two);
        assert_eq!(live.lock().runs.len(), 0);
        live.written(&run, 1);
        assert_eq!(live.lock().runs.len(), 0);
    }

    #[tokio::test]
    async fn the_end_of_a_run_in_its_journal_frees_its_thread() {
        let live = LiveRuns::default();
        let journal: Arc<dyn Journal> = Arc::new(WatchedJournal {
            journal: Arc::new(MemoryJournal::default()),
            live: live.clone(),
        });
        let (run, other) = (RunId::new("r"), RunId::new("s"));
        let opened = journal.open(&run, "o", CLAIM, &[started()]).await;
        let held = live.hold_thread("t", &run).expect("it is free");
        assert!(live.hold_thread("t", &other).is_err());
        let end = RunEvent::Ended {
            outcome: RunOutcome::failed("enough"),
            spent: Spent::default(),
            at_ms: 0,
        };
        let epoch = opened.expect("it is new").epoch;
        let written = journal.append(&run, epoch, 1, &[end]).await;
        written.expect("it is this driver's");
        live.hold_thread("t", &other).expect("it is free again");
        drop(held);
        assert!(live.lock().runs.is_empty(), "nothing is kept");
    }
}
