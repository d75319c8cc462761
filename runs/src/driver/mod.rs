//! The driver of runs: journals each action of [`run::next`](crate::run::next), then performs it.

mod lease;
mod leased_run;
mod perform;
mod run_loop;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

pub use leased_run::LeasedRun;

use crate::{
    event::{RunEvent, RunStarted},
    facts::Facts,
    id::RunId,
    journal::{self, Claim, Journal},
};

/// Entries shown again after recovery. Also the maximum written in one append, so that every entry is shown at least
/// once.
const REPLAYED: usize = 32;

/// Drives many runs at once, each of them leased to one driver at a time.
#[derive(Clone, Debug)]
pub struct Driver {
    journal: Arc<dyn Journal>,
    name: String,
    lease: Duration,
    max_open: usize,
}

/// Commands to a run in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Command {
    /// Continue.
    #[default]
    Go,
    /// Cancel the run, for this reason.
    Cancel(String),
    /// Begin no further step, and release the run once its tools, models and messages in flight have returned. A run
    /// that reaches its end meanwhile ends.
    Drain,
    /// Release the run for another driver. Its tools are cancelled, and dropped 500 ms later; their results are lost,
    /// and they are called again under the same keys.
    Suspend,
}

/// Reasons why a run was not driven to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// Suspended by [`Command::Suspend`] or [`Command::Drain`].
    #[error("the run was let go")]
    Suspended,
    /// Another driver holds the lease, or it could not be renewed.
    #[error("the run's lease was lost")]
    Fenced,
    /// An event could not be journaled.
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
}

impl Driver {
    /// Default duration of a lease: 15 s.
    pub const LEASE: Duration = Duration::from_secs(15);

    /// Default maximum of steps in flight per run: 16.
    pub const MAX_OPEN: usize = 16;

    /// Creates a driver. Two live drivers must not share a name; a restarted driver takes over the runs leased under
    /// its name at once.
    pub fn new(journal: Arc<dyn Journal>, name: impl Into<String>) -> Self {
        Self {
            journal,
            name: name.into(),
            lease: Self::LEASE,
            max_open: Self::MAX_OPEN,
        }
    }

    /// Sets the duration of leases.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the maximum of steps in flight per run; at least 1.
    #[must_use]
    pub fn max_open(mut self, max_open: usize) -> Self {
        self.max_open = max_open.max(1);
        self
    }

    /// The journal.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// The driver's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Leases a run; `first` creates one that does not exist. Once this returns, the run is durable. Drive it at once:
    /// the lease is not renewed before.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::open`].
    pub async fn open(
        &self,
        run: RunId,
        owner: &str,
        first: Option<RunStarted>,
    ) -> Result<LeasedRun, journal::JournalError> {
        let first = first.map(RunEvent::Started);
        self.open_with(run, owner, first.as_slice()).await
    }

    /// Leases a run; `first` creates one that does not exist with these events, such as a [fork](crate::fork).
    ///
    /// # Errors
    ///
    /// Those of [`Journal::open`].
    pub async fn open_with(
        &self,
        run: RunId,
        owner: &str,
        first: &[RunEvent],
    ) -> Result<LeasedRun, journal::JournalError> {
        let claim = Claim {
            driver: &self.name,
            lease: self.lease,
        };
        let taken = Instant::now();
        let opened = self.journal.open(&run, owner, claim, first).await?;
        // Nobody has been shown the beginning of a fork either, but its world goes on from there.
        let recent = match opened.is_new && opened.last == 1 {
            true => Vec::new(),
            false => {
                let shown = opened.last.saturating_sub(REPLAYED as u64);
                self.journal.read(&run, shown, REPLAYED).await?
            }
        };
        Ok(LeasedRun {
            facts: Facts::of(opened.entries.iter().map(|e| &e.event)),
            last: opened.last,
            progress: opened.progress,
            recent,
            is_new: opened.is_new,
            epoch: opened.epoch,
            taken,
            driver: self.clone(),
            run,
        })
    }
}
