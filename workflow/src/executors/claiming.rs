//! The lease of a run that an executor is about to take over.

use std::time::Duration;

use agenthub_sdk::runs::{
    RunEvent, RunId,
    journal::{Claim, JournalError},
};
use tokio::time::{sleep, timeout};

use super::{Place, supervisor::within};
use crate::executor::NAME;

/// Lease of a run whose executor is about to begin. It is renewed until the executor takes it over.
pub(super) const BEGINNING: Duration = Duration::from_secs(5);

/// Time for an executor to take its run over; then other supervisors may begin the run.
const TAKE_OVER: Duration = Duration::from_secs(60);

/// Result of taking a run's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// The lease is this supervisor's, with this epoch.
    Ours(u64),
    /// Another driver has the run, or it is over.
    Others,
    /// The run cannot be read: its executor says so.
    Unreadable,
}

/// Takes the run's lease for its executor. So of several supervisors each begins other runs, though their queues have the same ones.
pub(super) async fn claim(
    place: &Place,
    run: &RunId,
    driver: &str,
) -> Result<Claimed, JournalError> {
    let claim = Claim {
        driver,
        lease: BEGINNING,
    };
    match within(place.journal.open(run, NAME, claim, &[])).await {
        Ok(opened) => {
            let last = opened.entries.last().map(|entry| &entry.event);
            Ok(match last {
                Some(RunEvent::Ended { .. }) => Claimed::Others,
                _ => Claimed::Ours(opened.epoch),
            })
        }
        Err(JournalError::Leased { .. } | JournalError::NotFound(_)) => Ok(Claimed::Others),
        Err(JournalError::Unreadable { .. }) => Ok(Claimed::Unreadable),
        Err(error) => Err(error),
    }
}

/// Renews the lease of a run until its executor takes it over, or has had the time for that.
pub(super) async fn kept_until_taken_over(place: &Place, run: &RunId, epoch: Option<u64>) {
    let Some(epoch) = epoch else { return };
    let renewing = async {
        loop {
            sleep(BEGINNING / 3).await;
            match within(place.journal.renew(run, epoch, BEGINNING)).await {
                Err(error) if !error.is_retryable() => return,
                Ok(()) | Err(_) => {}
            }
        }
    };
    if timeout(TAKE_OVER, renewing).await.is_err() {
        tracing::warn!(%run, "an executor has not begun with its run yet");
    }
}
