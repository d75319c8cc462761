//! A run leased by a driver.

use std::sync::Arc;

use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{Command, DriveError, Driver, lease::LeaseRenewal, run_loop::RunLoop};
use crate::{
    event::RunOutcome,
    facts::Facts,
    id::RunId,
    journal::{self, Entry, ProgressSize},
    strategy::Strategy,
    world::World,
};

/// A run leased by this driver. Dropping it leaves the run to other drivers once the lease expires.
#[derive(Debug)]
pub struct LeasedRun {
    pub(super) driver: Driver,
    pub(super) run: RunId,
    pub(super) epoch: u64,
    /// Lower bound of the time when the lease began.
    pub(super) taken: Instant,
    /// Sequence number of the last event.
    pub(super) last: u64,
    pub(super) facts: Facts,
    /// Size of the run's progress.
    pub(super) progress: ProgressSize,
    /// Entries that may not have been shown yet.
    pub(super) recent: Vec<Entry>,
    pub(super) is_new: bool,
}

impl LeasedRun {
    /// The run's id.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The fold of its journal.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Sequence number of the first event that a world is shown.
    pub fn first_shown(&self) -> u64 {
        self.recent.first().map_or(1, |entry| entry.seq)
    }

    /// True if this call created the run.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Releases the lease without driving the run.
    ///
    /// # Errors
    ///
    /// [`journal::JournalError::Unavailable`].
    pub async fn release(self) -> Result<(), journal::JournalError> {
        self.driver.journal.release(&self.run, self.epoch).await
    }

    /// Drives the run to its end and returns the outcome, after the requester was told. Dropping the future stops
    /// everything that it does in this process; the run can be recovered when its lease expires.
    ///
    /// # Errors
    ///
    /// [`DriveError`]. Everything in flight in this process has been stopped by then.
    ///
    /// # Panics
    ///
    /// If the strategy panics, or the world while it looks, shows or concludes. A panic in a step is that step's
    /// failure.
    pub async fn drive(
        mut self,
        strategy: &dyn Strategy,
        world: Arc<dyn World>,
        commands: watch::Receiver<Command>,
    ) -> Result<RunOutcome, DriveError> {
        if let Some(outcome) = self.facts.ended() {
            let outcome = outcome.clone();
            self.release().await?;
            return Ok(outcome);
        }
        self.renew_if_late().await?;
        let keeper = LeaseRenewal::start(&self);
        let mut driving = RunLoop::new(self, strategy, world, commands);
        let result = tokio::select! {
            biased;
            () = keeper.lost() => Err(DriveError::Fenced),
            result = driving.run() => result,
        };
        if matches!(result, Err(DriveError::Suspended)) {
            driving.stop_tools().await;
        }
        let leased = driving.end().await;
        if matches!(result, Ok(_) | Err(DriveError::Suspended))
            && let Err(error) = leased.release().await
        {
            tracing::warn!(%error, "a run that was let go is free only when its lease is over");
        }
        result
    }

    /// Renews the lease if too much of it passed between opening the run and driving it.
    async fn renew_if_late(&mut self) -> Result<(), DriveError> {
        let lease = self.driver.lease;
        if self.taken.elapsed() < lease / 3 {
            return Ok(());
        }
        let asked = Instant::now();
        let renew = self.driver.journal.renew(&self.run, self.epoch, lease);
        match timeout(lease / 3, renew).await {
            Ok(Ok(())) => {
                self.taken = asked;
                Ok(())
            }
            Ok(Err(journal::JournalError::Fenced(_) | journal::JournalError::NotFound(_)))
            | Err(_) => Err(DriveError::Fenced),
            Ok(Err(error)) => Err(error.into()),
        }
    }
}
