//! A journal with injected faults.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agenthub_runs::{
    Journal, RunEvent, RunId,
    journal::{JournalDecorator, JournalError, MemoryJournal},
};
use async_trait::async_trait;
use tokio::time::sleep;

/// An in-memory journal that can be slow, or fail.
#[derive(Debug, Default)]
pub(crate) struct FaultyJournal {
    pub(crate) inner: MemoryJournal,
    /// Duration of an append.
    pub(crate) append_takes: Duration,
    /// True if renewals get no answer.
    pub(crate) is_silent: AtomicBool,
    /// True if writes fail.
    pub(crate) is_full: AtomicBool,
    /// Events of each append.
    pub(crate) appends: Mutex<Vec<Vec<RunEvent>>>,
}

impl FaultyJournal {
    pub(crate) fn slow(append_takes: Duration) -> Arc<Self> {
        Arc::new(Self {
            append_takes,
            ..Self::default()
        })
    }

    fn note(&self, events: &[RunEvent]) {
        let mut appends = self.appends.lock().expect("nobody panicked");
        appends.push(events.to_vec());
    }
}

#[async_trait]
impl JournalDecorator for FaultyJournal {
    fn inner(&self) -> &dyn Journal {
        &self.inner
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        sleep(self.append_takes).await;
        if self.is_full.load(Ordering::Relaxed) {
            return Err(JournalError::Unavailable("the disk is full".into()));
        }
        self.note(events);
        self.inner.append(run, epoch, after, events).await
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError> {
        if self.is_silent.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.inner.renew(run, epoch, lease).await
    }
}
