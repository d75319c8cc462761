//! The one shell around runs: it writes down what [`run::next`](crate::run::next) says, and then does it.

mod driving;
mod hand;
mod keeper;
mod perform;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

pub use hand::InHand;

use crate::{
    event::{RunEvent, Started},
    facts::Facts,
    id::RunId,
    journal::{self, Claim, Journal},
};

/// The entries that are shown again when a run is taken up, and that are written down together at most: so none is never shown.
const SHOWN_AGAIN: usize = 32;

/// Drives runs: each by one driver at a time, many at once by one driver.
#[derive(Clone, Debug)]
pub struct Driver {
    journal: Arc<dyn Journal>,
    name: String,
    lease: Duration,
    max_open: usize,
}

/// What a driver is told from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Command {
    /// Go on.
    #[default]
    Go,
    /// Nobody wants the result any more, and why.
    Cancel(String),
    /// Begin nothing more, and let the run go once the tools, the models and the words that are out have come back. A run that comes to
    /// its end with them ends.
    Drain,
    /// Let the run go, for another driver to take up. Its tools are cancelled, and dropped 500 ms later; what they give is lost, and they are
    /// called again under the same keys.
    Suspend,
}

/// Why a run was not driven to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// As it was told to.
    #[error("the run was let go")]
    Suspended,
    /// Another driver has it, or it could not be kept.
    #[error("the run's lease was lost")]
    Fenced,
    /// What happened could not be written down.
    #[error(transparent)]
    Journal(#[from] journal::Error),
}

impl Driver {
    /// How long a run is a driver's without renewal: 15 s.
    pub const LEASE: Duration = Duration::from_secs(15);

    /// The steps of one run that are out at one time: 16.
    pub const MAX_OPEN: usize = 16;

    /// A driver. No two that live may have the same name; one that comes back under its name takes its own runs over at once.
    pub fn new(journal: Arc<dyn Journal>, name: impl Into<String>) -> Self {
        Self {
            journal,
            name: name.into(),
            lease: Self::LEASE,
            max_open: Self::MAX_OPEN,
        }
    }

    /// How long a run is this driver's without renewal.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// The steps of one run that are out at one time; at least 1.
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

    /// Takes a run in hand; one that does not exist begins with `first`. Once this returns, it will not be forgotten. Drive it at
    /// once: the lease is not renewed before.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::open`].
    pub async fn open(
        &self,
        run: RunId,
        owner: &str,
        first: Option<Started>,
    ) -> Result<InHand, journal::Error> {
        let claim = Claim {
            driver: &self.name,
            lease: self.lease,
        };
        let first = first.map(RunEvent::Started);
        let taken = Instant::now();
        let opened = self
            .journal
            .open(&run, owner, claim, first.as_ref())
            .await?;
        let recent = match opened.is_new {
            true => Vec::new(),
            false => {
                let shown = opened.last.saturating_sub(SHOWN_AGAIN as u64);
                self.journal.read(&run, shown, SHOWN_AGAIN).await?
            }
        };
        Ok(InHand {
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
