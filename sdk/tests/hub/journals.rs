//! A journal that is taken for one that survives its process, as it is kept by the test.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::runs::{
    Journal, RunEvent, RunId,
    journal::{Claim, Entry, JournalDecorator, JournalError, MemoryJournal, OpenedRun},
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) inner: Arc<MemoryJournal>,
    /// How many runs may be opened at one time: what is opened is written down, but only then said to be.
    pub(crate) opens: Semaphore,
    /// The place of the event that cannot be read; 0 is none.
    pub(crate) unreadable: u64,
    /// How often a run was looked into or opened that cannot be read.
    pub(crate) stumbled: AtomicUsize,
    /// How often somebody looked for what was left behind.
    pub(crate) looks: AtomicUsize,
    /// How often runs that are over were to be forgotten.
    pub(crate) tidied: AtomicUsize,
}

impl Kept {
    pub(crate) fn new(inner: &Arc<MemoryJournal>) -> Arc<Self> {
        Arc::new(Self::keeping(inner))
    }

    pub(crate) fn keeping(inner: &Arc<MemoryJournal>) -> Self {
        Self {
            inner: inner.clone(),
            opens: Semaphore::new(1_000),
            unreadable: 0,
            stumbled: AtomicUsize::new(0),
            looks: AtomicUsize::new(0),
            tidied: AtomicUsize::new(0),
        }
    }

    /// One that is kept by itself.
    pub(crate) fn empty() -> Arc<Self> {
        Self::new(&Arc::default())
    }

    fn readable(&self, run: &RunId, entries: &[Entry]) -> Result<(), JournalError> {
        match entries.iter().any(|e| e.seq == self.unreadable) {
            true => {
                self.stumbled.fetch_add(1, Ordering::SeqCst);
                Err(JournalError::Unreadable {
                    run: run.clone(),
                    seq: self.unreadable,
                    why: "it is damaged".to_owned(),
                })
            }
            false => Ok(()),
        }
    }
}

#[async_trait]
impl JournalDecorator for Kept {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        let opened = self.inner.open(run, owner, claim, first).await?;
        let _open = self.opens.acquire().await.expect("it is not closed");
        self.readable(run, &opened.entries)?;
        Ok(opened)
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        let entries = self.inner.read(run, after, limit).await?;
        self.readable(run, &entries)?;
        Ok(entries)
    }

    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        let forgotten = self.inner.forget(owner, age).await;
        self.tidied.fetch_add(1, Ordering::SeqCst);
        forgotten
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.inner.adoptable(owner, driver, limit).await
    }
}
