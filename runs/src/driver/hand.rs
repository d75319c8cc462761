//! A run in the hands of a driver.

use std::sync::Arc;

use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{Command, DriveError, Driver, driving::Driving, keeper::Keeper};
use crate::{
    event::RunOutcome,
    facts::Facts,
    id::RunId,
    journal::{self, Entry, Tally},
    strategy::Strategy,
    world::World,
};

/// A run that this driver has taken in hand. Dropping it leaves the run to others once its lease is over.
#[derive(Debug)]
pub struct InHand {
    pub(super) driver: Driver,
    pub(super) run: RunId,
    pub(super) epoch: u64,
    /// When the lease began, at the earliest.
    pub(super) taken: Instant,
    /// The place of the last event.
    pub(super) last: u64,
    pub(super) facts: Facts,
    /// What steps have shown.
    pub(super) progress: Tally,
    /// What may not have been shown.
    pub(super) recent: Vec<Entry>,
    pub(super) is_new: bool,
}

impl InHand {
    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// What is known of it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The place of the first event that a world is shown.
    pub fn shown_from(&self) -> u64 {
        self.recent.first().map_or(1, |entry| entry.seq)
    }

    /// Whether it began just now.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Lets the run go without doing anything about it.
    ///
    /// # Errors
    ///
    /// [`journal::Error::Unavailable`].
    pub async fn release(self) -> Result<(), journal::Error> {
        self.driver.journal.release(&self.run, self.epoch).await
    }

    /// Drives the run to its end and returns how it ended, once who waits for it was told. Dropping the future stops everything that
    /// it does in this process; the run can be taken up when its lease is over.
    ///
    /// # Errors
    ///
    /// [`DriveError`]. Whatever was out in this process is stopped by then.
    ///
    /// # Panics
    ///
    /// Where the strategy does, or the world while it looks, shows or concludes. What panics in a step is the step's failure.
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
        let keeper = Keeper::start(&self);
        let mut driving = Driving::new(self, strategy, world, commands);
        let result = tokio::select! {
            biased;
            () = keeper.lost() => Err(DriveError::Fenced),
            result = driving.run() => result,
        };
        if matches!(result, Err(DriveError::Suspended)) {
            driving.stop_tools().await;
        }
        let hand = driving.end().await;
        if matches!(result, Ok(_) | Err(DriveError::Suspended))
            && let Err(error) = hand.release().await
        {
            tracing::warn!(%error, "a run that was let go is free only when its lease is over");
        }
        result
    }

    /// Between taking a run in hand and driving it the lease may have run out.
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
            Ok(Err(journal::Error::Fenced(_) | journal::Error::NotFound(_))) | Err(_) => {
                Err(DriveError::Fenced)
            }
            Ok(Err(error)) => Err(error.into()),
        }
    }
}
