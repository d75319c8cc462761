//! The store of push notifications: configurations, and the notifications that wait for each. One SQLite file in the data folder, or memory.
//!
//! The record of an event and the position in the hub's log up to which events were recorded are one transaction, so that none is
//! recorded twice and none is missed. A configuration survives a power cut once [`Store::add`] returns; notifications survive the end of the
//! process, and after a power cut follow from the hub's log again.

mod rows;
mod schema;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;

pub(super) use self::rows::{Added, NextNotification, Settled, in_ms};
pub(crate) use self::rows::{Page, StartPoint};
pub use self::schema::OpenError;
use super::config::Config;
use crate::{
    error::{Error, Kind},
    v1::StreamResponse,
};

/// Configurations at most, of one task and of all.
pub(super) const PER_TASK: i64 = 16;
pub(super) const TOTAL: i64 = 10_000;

/// Bounds of what waits for one configuration; beyond them the task as it is then takes the place of its updates.
pub(super) const WAITING: i64 = 1_000;
pub(super) const WAITING_BYTES: i64 = 8 * 1024 * 1024;

/// The store. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Store(Arc<Mutex<Connection>>);

/// A state of the store that it cannot leave by itself.
#[derive(Debug, thiserror::Error)]
#[error("the store of push notifications: {0}")]
pub(super) struct StoreError(#[from] rusqlite::Error);

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "push notifications");
        Kind::Unavailable.with(error.to_string())
    }
}

impl Store {
    /// Opens the store in this folder, or one in memory.
    ///
    /// # Errors
    ///
    /// The reason why the folder or the file cannot be used.
    pub(super) fn open(folder: Option<&Path>) -> Result<Self, OpenError> {
        let connection = schema::open(folder)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Runs a call in one transaction.
    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.0);
        let ran = tokio::task::spawn_blocking(move || {
            let mut connection = store.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction()?;
            let result = call(&transaction)?;
            transaction.commit()?;
            Ok(result)
        });
        ran.await
            .unwrap_or_else(|_| Err(StoreError(rusqlite::Error::InvalidQuery)))
    }

    /// Runs a call in one transaction that survives a power cut once this returns.
    async fn run_synced<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.0);
        let ran = tokio::task::spawn_blocking(move || {
            let mut connection = store.lock().unwrap_or_else(PoisonError::into_inner);
            connection.pragma_update(None, "synchronous", "FULL")?;
            let result = (|| {
                let transaction = connection.transaction()?;
                let result = call(&transaction)?;
                transaction.commit()?;
                Ok(result)
            })();
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            result
        });
        ran.await
            .unwrap_or_else(|_| Err(StoreError(rusqlite::Error::InvalidQuery)))
    }

    /// Adds a configuration of a task, or changes the one with its id, for which nothing begins anew.
    pub(super) async fn add(
        &self,
        task: &str,
        config: Config,
        begin: StartPoint,
        now_ms: u64,
    ) -> Result<Added, StoreError> {
        let task = task.to_owned();
        self.run_synced(move |sql| rows::add(sql, &task, &config, &begin, now_ms))
            .await
    }

    /// A configuration by its id; the first one if the id is empty.
    pub(super) async fn get(&self, task: &str, id: &str) -> Result<Option<Config>, StoreError> {
        let (task, id) = (task.to_owned(), id.to_owned());
        self.run(move |sql| rows::get(sql, &task, &id)).await
    }

    /// The configurations of a task after a key, `limit` at most.
    pub(super) async fn list(
        &self,
        task: &str,
        after: i64,
        limit: u32,
    ) -> Result<Page, StoreError> {
        let task = task.to_owned();
        self.run(move |sql| rows::list(sql, &task, after, limit))
            .await
    }

    /// Removes a configuration with all that waits for it, and returns its key.
    pub(super) async fn remove(&self, task: &str, id: &str) -> Result<Option<i64>, StoreError> {
        let (task, id) = (task.to_owned(), id.to_owned());
        self.run_synced(move |sql| rows::remove(sql, &task, &id))
            .await
    }

    /// Removes a configuration by its key.
    pub(super) async fn drop_config(&self, key: i64) -> Result<(), StoreError> {
        self.run(move |sql| rows::drop_config(sql, key)).await
    }

    /// Records an event for the configurations of its task, and returns those that have something to send. `show` says what one of them
    /// is sent that was shown a state last, and which state is shown from then on.
    pub(super) async fn record(
        &self,
        task: &str,
        position: &str,
        now_ms: u64,
        show: impl Fn(Option<i32>) -> (Option<StreamResponse>, Option<i32>, bool) + Send + 'static,
    ) -> Result<Vec<i64>, StoreError> {
        let (task, position) = (task.to_owned(), position.to_owned());
        self.run(move |sql| rows::record(sql, &task, &position, now_ms, &show))
            .await
    }

    /// Records that events are missing: each configuration of a task that is not over gets the task itself.
    pub(super) async fn record_gap(&self, now_ms: u64) -> Result<Vec<i64>, StoreError> {
        self.run(move |sql| rows::record_gap(sql, now_ms)).await
    }

    /// Notes the position up to which events were recorded.
    pub(super) async fn reached(&self, position: &str) -> Result<(), StoreError> {
        let position = position.to_owned();
        self.run(move |sql| rows::reached(sql, &position)).await
    }

    /// Forgets the position.
    pub(super) async fn forget_position(&self) -> Result<(), StoreError> {
        self.run(|sql| sql.execute("DELETE FROM reached", []).map(drop))
            .await
    }

    /// The position up to which events were recorded; empty if none.
    pub(super) async fn position(&self) -> Result<String, StoreError> {
        self.run(rows::position).await
    }

    /// The first notification that waits for a configuration.
    pub(super) async fn front(&self, key: i64) -> Result<Option<NextNotification>, StoreError> {
        self.run(move |sql| rows::front(sql, key)).await
    }

    /// Records what came of an attempt, and when the task ended if the attempt has shown that.
    pub(super) async fn settle(
        &self,
        key: i64,
        seq: i64,
        settled: Settled,
        ended_ms: Option<u64>,
    ) -> Result<(), StoreError> {
        self.run(move |sql| rows::settle(sql, key, seq, settled, ended_ms))
            .await
    }

    /// The configurations for which something waits.
    pub(super) async fn with_mail(&self) -> Result<Vec<i64>, StoreError> {
        self.run(rows::with_mail).await
    }

    /// The tasks with configurations.
    pub(super) async fn tasks(&self) -> Result<Vec<String>, StoreError> {
        self.run(rows::tasks).await
    }

    /// Removes configurations without anything waiting whose task ended before this time.
    pub(super) async fn sweep(&self, before_ms: u64) -> Result<(), StoreError> {
        self.run(move |sql| rows::sweep(sql, before_ms)).await
    }

    /// Some of the configurations, with their tasks, that have waited since before this time for their task to begin.
    pub(super) async fn unbegun(&self, before_ms: u64) -> Result<Vec<(i64, String)>, StoreError> {
        self.run(move |sql| rows::unbegun(sql, before_ms)).await
    }

    /// Removes a configuration by its key, unless its task has begun.
    pub(super) async fn drop_unbegun(&self, key: i64) -> Result<(), StoreError> {
        self.run(move |sql| rows::drop_unbegun(sql, key)).await
    }
}

#[cfg(test)]
mod tests;
