//! Decorators of journals.

use std::{fmt, time::Duration};

use async_trait::async_trait;

use super::{Claim, Entry, Error, Filter, Journal, ListedRun, OpenedRun};
use crate::{event::RunEvent, id::RunId};

/// A journal that overrides some calls and forwards the rest to another one.
#[async_trait]
pub trait JournalDecorator: Send + Sync + fmt::Debug {
    /// The wrapped journal.
    fn inner(&self) -> &dyn Journal;

    /// See [`Journal::is_durable`].
    fn is_durable(&self) -> bool {
        self.inner().is_durable()
    }

    /// See [`Journal::open`].
    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: Option<&RunEvent>,
    ) -> Result<OpenedRun, Error> {
        self.inner().open(run, owner, claim, first).await
    }

    /// See [`Journal::append`].
    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), Error> {
        self.inner().append(run, epoch, after, events).await
    }

    /// See [`Journal::renew`].
    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), Error> {
        self.inner().renew(run, epoch, lease).await
    }

    /// See [`Journal::read`].
    async fn read(&self, run: &RunId, after: u64, limit: usize) -> Result<Vec<Entry>, Error> {
        self.inner().read(run, after, limit).await
    }

    /// See [`Journal::adoptable`].
    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, Error> {
        self.inner().adoptable(owner, driver, limit).await
    }

    /// See [`Journal::list`].
    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, Error> {
        self.inner().list(filter).await
    }

    /// See [`Journal::condense`].
    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, Error> {
        self.inner().condense(owner, age).await
    }

    /// See [`Journal::forget`].
    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, Error> {
        self.inner().forget(owner, age).await
    }
}

#[async_trait]
impl<A: JournalDecorator> Journal for A {
    fn is_durable(&self) -> bool {
        JournalDecorator::is_durable(self)
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: Option<&RunEvent>,
    ) -> Result<OpenedRun, Error> {
        JournalDecorator::open(self, run, owner, claim, first).await
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), Error> {
        JournalDecorator::append(self, run, epoch, after, events).await
    }

    async fn add(&self, run: &RunId, owner: &str, events: &[RunEvent]) -> Result<(), Error> {
        self.inner().add(run, owner, events).await
    }

    async fn close(&self, run: &RunId, claim: Claim<'_>, end: &RunEvent) -> Result<(), Error> {
        self.inner().close(run, claim, end).await
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), Error> {
        JournalDecorator::renew(self, run, epoch, lease).await
    }

    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), Error> {
        self.inner().release(run, epoch).await
    }

    async fn read(&self, run: &RunId, after: u64, limit: usize) -> Result<Vec<Entry>, Error> {
        JournalDecorator::read(self, run, after, limit).await
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, Error> {
        JournalDecorator::adoptable(self, owner, driver, limit).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, Error> {
        JournalDecorator::list(self, filter).await
    }

    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, Error> {
        JournalDecorator::condense(self, owner, age).await
    }

    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, Error> {
        JournalDecorator::forget(self, owner, age).await
    }
}
