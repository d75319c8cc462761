//! A journal with moods.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agenthub_runs::{
    Journal, RunEvent, RunId,
    journal::{Claim, Entry, Error, MemoryJournal, Opened},
};
use async_trait::async_trait;
use tokio::time::sleep;

/// A journal in memory that can be slow, or fail.
#[derive(Debug, Default)]
pub(crate) struct Moody {
    pub(crate) inner: MemoryJournal,
    /// How long an append takes.
    pub(crate) append_takes: Duration,
    /// Whether leases can be renewed.
    pub(crate) is_silent: AtomicBool,
    /// Whether anything can be written.
    pub(crate) is_full: AtomicBool,
}

impl Moody {
    pub(crate) fn slow(append_takes: Duration) -> Arc<Self> {
        Arc::new(Self {
            append_takes,
            ..Self::default()
        })
    }
}

#[async_trait]
impl Journal for Moody {
    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: Option<&RunEvent>,
    ) -> Result<Opened, Error> {
        self.inner.open(run, owner, claim, first).await
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), Error> {
        sleep(self.append_takes).await;
        if self.is_full.load(Ordering::Relaxed) {
            return Err(Error::Unavailable("the disk is full".into()));
        }
        self.inner.append(run, epoch, after, events).await
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), Error> {
        if self.is_silent.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.inner.renew(run, epoch, lease).await
    }

    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), Error> {
        self.inner.release(run, epoch).await
    }

    async fn read(&self, run: &RunId, after: u64, limit: usize) -> Result<Vec<Entry>, Error> {
        self.inner.read(run, after, limit).await
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, Error> {
        self.inner.adoptable(owner, driver, limit).await
    }

    async fn forget(&self, age: Duration) -> Result<u64, Error> {
        self.inner.forget(age).await
    }
}
