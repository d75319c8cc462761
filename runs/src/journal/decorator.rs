//! Decorators of journals.

use std::{fmt, time::Duration};

use async_trait::async_trait;

use super::{Claim, Entry, Filter, Journal, JournalError, ListedRun, OpenedRun};
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
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        self.inner().open(run, owner, claim, first).await
    }

    /// See [`Journal::append`].
    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        self.inner().append(run, epoch, after, events).await
    }

    /// See [`Journal::renew`].
    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError> {
        self.inner().renew(run, epoch, lease).await
    }

    /// See [`Journal::take_in`].
    async fn take_in(&self, run: &RunId, task: &str, result: &str) -> Result<bool, JournalError> {
        self.inner().take_in(run, task, result).await
    }

    /// See [`Journal::read`].
    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        self.inner().read(run, after, limit).await
    }

    /// See [`Journal::adoptable`].
    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        self.inner().adoptable(owner, driver, limit).await
    }

    /// See [`Journal::list`].
    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError> {
        self.inner().list(filter).await
    }

    /// See [`Journal::condense`].
    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        self.inner().condense(owner, age).await
    }

    /// See [`Journal::forget`].
    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
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
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        JournalDecorator::open(self, run, owner, claim, first).await
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        JournalDecorator::append(self, run, epoch, after, events).await
    }

    async fn add(&self, run: &RunId, owner: &str, events: &[RunEvent]) -> Result<(), JournalError> {
        self.inner().add(run, owner, events).await
    }

    async fn close(
        &self,
        run: &RunId,
        claim: Claim<'_>,
        end: &RunEvent,
    ) -> Result<(), JournalError> {
        self.inner().close(run, claim, end).await
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError> {
        JournalDecorator::renew(self, run, epoch, lease).await
    }

    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), JournalError> {
        self.inner().release(run, epoch).await
    }

    async fn take_in(&self, run: &RunId, task: &str, result: &str) -> Result<bool, JournalError> {
        JournalDecorator::take_in(self, run, task, result).await
    }

    async fn taken_in(&self, run: &RunId, task: &str) -> Result<Option<String>, JournalError> {
        self.inner().taken_in(run, task).await
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        JournalDecorator::read(self, run, after, limit).await
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        JournalDecorator::adoptable(self, owner, driver, limit).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError> {
        JournalDecorator::list(self, filter).await
    }

    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        JournalDecorator::condense(self, owner, age).await
    }

    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        JournalDecorator::forget(self, owner, age).await
    }
}
