//! The journal: durable storage of runs.
//!
//! A journal stores the events of each run in order, and the lease of its driver. Only one driver holds the lease at a
//! time. Every lease has its own epoch (a fencing token): appends of a driver that lost its lease are refused.

mod codec;
#[cfg(any(test, feature = "contract"))]
#[doc(hidden)]
pub mod contract;
mod decorator;
mod listing;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod progress_size;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod rows;
#[cfg(feature = "sqlite")]
mod sqlite;
mod summary;

use std::{fmt, time::Duration};

use async_trait::async_trait;

pub use codec::{DecodeError, FORMAT, decode, encode};
pub use decorator::JournalDecorator;
pub use listing::{Filter, ListedRun, State};
pub use memory::MemoryJournal;
#[cfg(feature = "postgres")]
pub use postgres::PostgresJournal;
pub use progress_size::ProgressSize;
#[cfg(feature = "sqlite")]
pub use sqlite::{OpenError, SqliteJournal};
pub use summary::Summary;

use crate::{event::RunEvent, id::RunId};

/// An event with its sequence number.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// From 1, without gaps.
    pub seq: u64,
    /// The event.
    pub event: RunEvent,
}

/// A run leased to a driver.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedRun {
    /// Fencing token of the lease; rises with every driver.
    pub epoch: u64,
    /// All events except progress, which can be large and affects no decision.
    pub entries: Vec<Entry>,
    /// Sequence number of the last event, progress included.
    pub last: u64,
    /// Size of the progress.
    pub progress: ProgressSize,
    /// True if this call created the run.
    pub is_new: bool,
}

/// A driver's claim to a run, for the duration of one lease.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Name of the driver. The same name takes over its own run at once, so live drivers must not share one.
    pub driver: &'a str,
    /// Duration of the lease by the journal's clock.
    pub lease: Duration,
}

/// Errors of a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The run does not exist.
    #[error("there is no run {0}")]
    NotFound(RunId),
    /// Another driver holds the lease.
    #[error("run {run} is driven by {driver} for another {} ms", .left.as_millis())]
    Leased {
        /// The run.
        run: RunId,
        /// Its name.
        driver: String,
        /// Time left of its lease.
        left: Duration,
    },
    /// Another driver holds the lease, or events were appended that the caller has not seen.
    #[error("run {0} is no longer this driver's")]
    Fenced(RunId),
    /// An event cannot be decoded.
    #[error("event {seq} of run {run} cannot be read: {why}")]
    Unreadable {
        /// The run.
        run: RunId,
        /// Sequence number of the event.
        seq: u64,
        /// Reason.
        why: String,
    },
    /// The cursor of a list is invalid.
    #[error("{0:?} is no cursor of a list of runs")]
    Cursor(String),
    /// The store fails, for the moment or permanently.
    #[error("the journal does not work: {0}")]
    Unavailable(String),
}

impl JournalError {
    /// True if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Leased { .. } | Self::Unavailable(_))
    }
}

/// Durable storage of runs. Once a call returns `Ok`, its writes survive a crash of this process and, except for the
/// journal in memory, of the machine. A call whose future is dropped may or may not have taken effect.
#[async_trait]
pub trait Journal: Send + Sync + fmt::Debug {
    /// True if the journal survives this process. If it does not, the caller keeps what would start its runs again.
    fn is_durable(&self) -> bool {
        true
    }

    /// Leases a run. `first` creates a run of `owner` that does not exist, with these events at once; there is no progress among
    /// them.
    ///
    /// # Errors
    ///
    /// [`JournalError::Leased`]; [`JournalError::NotFound`] without a run and with an empty `first`; [`JournalError::Unreadable`];
    /// [`JournalError::Unavailable`].
    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError>;

    /// Appends events after sequence number `after`, atomically.
    ///
    /// # Errors
    ///
    /// [`JournalError::Fenced`] if the epoch or `after` is not the latest; [`JournalError::NotFound`]; [`JournalError::Unavailable`].
    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError>;

    /// Adds a complete run of `owner` without a lease, atomically; the last event ends it. An existing run with this id
    /// stays unchanged.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`].
    async fn add(&self, run: &RunId, owner: &str, events: &[RunEvent]) -> Result<(), JournalError>;

    /// Ends a run whose events cannot be decoded: appends this event without reading the others. A run that has ended
    /// stays unchanged.
    ///
    /// # Errors
    ///
    /// [`JournalError::Leased`], [`JournalError::NotFound`], [`JournalError::Unavailable`].
    async fn close(
        &self,
        run: &RunId,
        claim: Claim<'_>,
        end: &RunEvent,
    ) -> Result<(), JournalError>;

    /// Extends the lease: it expires this long from now.
    ///
    /// # Errors
    ///
    /// [`JournalError::Fenced`], [`JournalError::NotFound`], [`JournalError::Unavailable`].
    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError>;

    /// Ends the lease, so that another driver can open the run at once. No effect once another driver has it.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`].
    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), JournalError>;

    /// Takes the result of a task of a run in, without a lease, for whoever drives the run. The first result of a task
    /// stays. Has no effect, and returns false, for a run that does not exist or has ended.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`].
    async fn take_in(&self, run: &RunId, task: &str, result: &str) -> Result<bool, JournalError>;

    /// The result of a task that was [taken in](Self::take_in). It is kept until the run is compacted or deleted.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`].
    async fn taken_in(&self, run: &RunId, task: &str) -> Result<Option<String>, JournalError>;

    /// Reads at most `limit` events after sequence number `after`, without a lease.
    ///
    /// # Errors
    ///
    /// [`JournalError::NotFound`], [`JournalError::Unreadable`], [`JournalError::Unavailable`].
    async fn read(&self, run: &RunId, after: u64, limit: usize)
    -> Result<Vec<Entry>, JournalError>;

    /// At most `limit` runs of this owner that have not ended and that this driver could lease, oldest first.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`].
    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError>;

    /// Lists runs, latest first, each with its [`Summary`], which every append updates in the same transaction. Reads
    /// no events.
    ///
    /// # Errors
    ///
    /// [`JournalError::Cursor`], [`JournalError::Unavailable`].
    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError>;

    /// Compacts the runs of this owner that ended at least `age` ago: keeps their first and last event, renumbered 1
    /// and 2, and their row in lists. Returns the number of runs compacted.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`].
    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, JournalError>;

    /// Deletes the runs of this owner that ended at least `age` ago. Returns their number.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`].
    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, JournalError>;
}
