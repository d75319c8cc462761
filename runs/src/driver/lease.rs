//! Keeps a run's lease while its driver works.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::LeasedRun;
use crate::{
    id::RunId,
    journal::{Journal, JournalError},
};

/// Renews a lease until dropped.
pub(super) struct LeaseRenewal {
    lost: CancellationToken,
    _renewing: JoinSet<()>,
}

impl LeaseRenewal {
    pub(super) fn start(hand: &LeasedRun) -> Self {
        let lost = CancellationToken::new();
        let mut renewing = JoinSet::new();
        let journal = Arc::clone(&hand.driver.journal);
        let (run, epoch, lease) = (hand.run.clone(), hand.epoch, hand.driver.lease);
        let (on_loss, taken) = (lost.clone(), hand.taken);
        renewing.spawn(async move {
            renew(&*journal, &run, epoch, lease, taken).await;
            on_loss.cancel();
        });
        Self {
            lost,
            _renewing: renewing,
        }
    }

    /// Waits until the lease is lost.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

/// Renews the lease three times per lease duration. Returns when another driver may have the run: the journal reports
/// it, or has not answered for so long that the lease could have expired.
async fn renew(
    journal: &dyn Journal,
    run: &RunId,
    epoch: u64,
    lease: Duration,
    mut renewed: Instant,
) {
    let safe = lease * 4 / 5;
    let mut pause = (lease / 3).saturating_sub(renewed.elapsed());
    loop {
        sleep(pause).await;
        let asked = Instant::now();
        let left = safe.saturating_sub(renewed.elapsed());
        match timeout(left, journal.renew(run, epoch, lease)).await {
            Ok(Ok(())) => {
                renewed = asked;
                pause = lease / 3;
            }
            Ok(Err(JournalError::Fenced(_) | JournalError::NotFound(_))) => return,
            Ok(Err(error)) => {
                tracing::warn!(%run, %error, "a run's lease could not be renewed");
                pause = lease / 15;
            }
            Err(_) => return,
        }
        if renewed.elapsed() >= safe {
            return;
        }
    }
}
