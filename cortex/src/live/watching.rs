//! Who waits for a run's next event is woken by who writes it down in this process.

use std::{
    collections::{HashMap, hash_map::Entry as Place},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_sdk::runs::{
    Journal, RunEvent, RunId,
    journal::{Claim, Error, JournalDecorator, OpenedRun},
};
use async_trait::async_trait;
use tokio::{sync::watch, time::timeout};

/// When to look again whether another process has written something.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What was written last of the runs that somebody watches. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Watching(Arc<Mutex<HashMap<RunId, watch::Sender<u64>>>>);

impl Watching {
    /// A run has events up to this one.
    pub(crate) fn written(&self, run: &RunId, seq: u64) {
        if let Some(last) = self.lock().get(run) {
            last.send_if_modified(|last| {
                let is_news = *last < seq;
                *last = seq.max(*last);
                is_news
            });
        }
    }

    /// Watches a run.
    pub fn of(&self, run: &RunId) -> Watched {
        let mut runs = self.lock();
        let last = runs.entry(run.clone()).or_default();
        Watched {
            last: last.subscribe(),
            watching: self.clone(),
            run: run.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, watch::Sender<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is watched.
#[derive(Debug)]
pub struct Watched {
    last: watch::Receiver<u64>,
    watching: Watching,
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
        let mut runs = self.watching.lock();
        if let Place::Occupied(place) = runs.entry(self.run.clone())
            // This one is still counted.
            && place.get().receiver_count() <= 1
        {
            place.remove();
        }
    }
}

/// A journal that wakes those who watch.
#[derive(Debug)]
pub(crate) struct Noticed {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) watching: Watching,
}

#[async_trait]
impl JournalDecorator for Noticed {
    fn inner(&self) -> &dyn Journal {
        &*self.journal
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: Option<&RunEvent>,
    ) -> Result<OpenedRun, Error> {
        let opened = self.journal.open(run, owner, claim, first).await?;
        self.watching.written(run, opened.last);
        Ok(opened)
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), Error> {
        self.journal.append(run, epoch, after, events).await?;
        self.watching.written(run, after + events.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, RunStarted, journal::MemoryJournal};
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
        let watching = Watching::default();
        let journal: Arc<dyn Journal> = Arc::new(Noticed {
            journal: Arc::new(MemoryJournal::default()),
            watching: watching.clone(),
        });
        let run = RunId::new("r");
        let mut watched = watching.of(&run);
        let began = Instant::now();
        let write = async {
            let opened = journal.open(&run, "o", CLAIM, Some(&started())).await;
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
        let watching = Watching::default();
        let run = RunId::new("r");
        let (one, two) = (watching.of(&run), watching.of(&run));
        drop(one);
        assert_eq!(watching.lock().len(), 1);
        drop(two);
        assert_eq!(watching.lock().len(), 0);
        watching.written(&run, 1);
        assert_eq!(watching.lock().len(), 0);
    }
}
