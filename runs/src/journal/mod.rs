//! Where runs are written down.
//!
//! A journal holds, for each run, its events in order, and who drives it. One driver at a time: it holds the run's lease, and every
//! lease has an epoch of its own, so that what a driver writes after it lost the lease is refused.

mod around;
mod codec;
#[cfg(any(test, feature = "contract"))]
#[doc(hidden)]
pub mod contract;
mod listing;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod rows;
#[cfg(feature = "sqlite")]
mod sqlite;
mod summary;
mod tally;

use std::{fmt, time::Duration};

use async_trait::async_trait;

pub use around::Around;
pub use codec::{FORMAT, Unreadable, decode, encode};
pub use listing::{Filter, Listed, State};
pub use memory::MemoryJournal;
#[cfg(feature = "postgres")]
pub use postgres::PostgresJournal;
#[cfg(feature = "sqlite")]
pub use sqlite::{OpenError, SqliteJournal};
pub use summary::Summary;
pub use tally::Tally;

use crate::{event::RunEvent, id::RunId};

/// An event with its place in its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// From 1, without gaps.
    pub seq: u64,
    /// What happened.
    pub event: RunEvent,
}

/// A run in the hands of a driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// Rises with every driver.
    pub epoch: u64,
    /// Everything that happened so far, but for progress, of which there may be much and by which nothing is decided.
    pub entries: Vec<Entry>,
    /// The place of the last event, progress among them.
    pub last: u64,
    /// What of it is progress.
    pub progress: Tally,
    /// Whether the run was made by this call.
    pub is_new: bool,
}

/// Who wants to drive a run, and for how long it is theirs if they do not renew.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The driver. The same name takes its own run over at once, so no two living drivers may share one.
    pub driver: &'a str,
    /// By the journal's clock.
    pub lease: Duration,
}

/// Why a journal refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such run.
    #[error("there is no run {0}")]
    NotFound(RunId),
    /// Another driver has it.
    #[error("run {run} is driven by {driver} for another {} ms", .left.as_millis())]
    Held {
        /// The run.
        run: RunId,
        /// Who.
        driver: String,
        /// How much is left of the lease.
        left: Duration,
    },
    /// The lease is another driver's, or events were added that this one has not seen.
    #[error("run {0} is no longer this driver's")]
    Fenced(RunId),
    /// An event cannot be read.
    #[error("event {seq} of run {run} cannot be read: {why}")]
    Unreadable {
        /// The run.
        run: RunId,
        /// The event's place.
        seq: u64,
        /// What is wrong with it.
        why: String,
    },
    /// No list can go on there.
    #[error("{0:?} is no cursor of a list of runs")]
    Cursor(String),
    /// The store does not work, for the moment or for good.
    #[error("the journal does not work: {0}")]
    Unavailable(String),
}

impl Error {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Held { .. } | Self::Unavailable(_))
    }
}

/// Where runs are written down. Once a call returns `Ok`, what it wrote survives a crash of this process and, but for the journal in
/// memory, of the machine. A call whose future is dropped may or may not have happened.
#[async_trait]
pub trait Journal: Send + Sync + fmt::Debug {
    /// Whether what is written down survives this process. Who has a run in a journal that does not, keeps what would start it again.
    fn is_durable(&self) -> bool {
        true
    }

    /// Takes a run in hand. One that does not exist is made, with `first` as its first event and for `owner` to find.
    ///
    /// # Errors
    ///
    /// [`Error::Held`]; [`Error::NotFound`] without a run and without `first`; [`Error::Unreadable`]; [`Error::Unavailable`].
    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: Option<&RunEvent>,
    ) -> Result<Opened, Error>;

    /// Adds events behind the one at `after`. All of them or none.
    ///
    /// # Errors
    ///
    /// [`Error::Fenced`] where the epoch or `after` is not the latest; [`Error::NotFound`]; [`Error::Unavailable`].
    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), Error>;

    /// Adds a run of `owner` that nobody drives, with all of its events, the last of which ends it. All of it or nothing; a run of that name
    /// that there is stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    async fn add(&self, run: &RunId, owner: &str, events: &[RunEvent]) -> Result<(), Error>;

    /// Ends a run whose events cannot be read: adds this one behind them, unread. A run that is over stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Held`], [`Error::NotFound`], [`Error::Unavailable`].
    async fn close(&self, run: &RunId, claim: Claim<'_>, end: &RunEvent) -> Result<(), Error>;

    /// Keeps the run for this much longer, from here on.
    ///
    /// # Errors
    ///
    /// [`Error::Fenced`], [`Error::NotFound`], [`Error::Unavailable`].
    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), Error>;

    /// Lets the run go, so that another driver can take it at once. Does nothing once another has.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), Error>;

    /// At most `limit` events behind the one at `after`, without taking the run in hand.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unreadable`], [`Error::Unavailable`].
    async fn read(&self, run: &RunId, after: u64, limit: usize) -> Result<Vec<Entry>, Error>;

    /// At most `limit` runs of this owner that are not over and that this driver could take in hand, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    async fn adoptable(&self, owner: &str, driver: &str, limit: usize)
    -> Result<Vec<RunId>, Error>;

    /// The runs that are wanted, latest first, each with its [`Summary`], which every call that adds events brings up to date together with
    /// them. No event is read for it.
    ///
    /// # Errors
    ///
    /// [`Error::Cursor`], [`Error::Unavailable`].
    async fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Error>;

    /// Leaves of the runs of this owner that ended at least `age` ago their first event and their last one, with the places 1 and 2, and what
    /// lists say of them. Returns how many had more.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, Error>;

    /// Forgets the runs of this owner that ended at least `age` ago. Returns how many.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, Error>;
}
