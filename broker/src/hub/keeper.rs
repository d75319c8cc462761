//! Snapshots and retention of the log on disk, while the hub goes on.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    log::{Commit, Position, Unfinished, Upkeep},
    upkeep::{self, Done},
};

/// How often it is looked at what has become old.
const ROUND: Duration = Duration::from_secs(3600);
/// How long nothing is tried after it could not be done.
const PAUSE: Duration = Duration::from_secs(60);

/// Keeps the log short until it is cancelled: when the hub starts, every so many records, and every hour.
pub(crate) async fn keep_log(hub: Hub, upkeep: Upkeep, stop: CancellationToken) {
    let mut commits = hub.commits();
    let every = hub.settings().log_snapshot;
    let mut known: Option<Position> = None;
    let mut round = tokio::time::interval(ROUND);
    round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        let is_due = |c: &Commit| {
            let last = c.position();
            known.is_some_and(|known| last.is_none_or(|last| upkeep::is_due(last, known, every)))
        };
        tokio::select! {
            () = stop.cancelled() => return,
            grown = commits.wait_for(is_due) => match grown.as_deref() {
                Ok(Commit::Upto(_) | Commit::Full(_)) => {}
                Ok(Commit::Failed(_)) | Err(_) => return,
            },
            _ = round.tick() => {}
        }
        match in_background(hub.clone(), upkeep.clone(), stop.clone(), known).await {
            Ok(done) => {
                tracing::debug!(
                    position = done.snapshot.0,
                    removed = done.removed,
                    "the log is kept"
                );
                known = Some(done.snapshot);
            }
            Err(Unfinished::Stopped | Unfinished::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "the log's upkeep is put off");
                let pause = tokio::time::sleep(PAUSE);
                if stop.run_until_cancelled(pause).await.is_none() {
                    return;
                }
            }
        }
    }
}

/// One round, on a thread of its own. It ends soon once the hub stops, and is waited for.
async fn in_background(
    hub: Hub,
    upkeep: Upkeep,
    stop: CancellationToken,
    known: Option<Position>,
) -> Result<Done, Unfinished> {
    let round = tokio::task::spawn_blocking(move || {
        let settings = hub.settings();
        let (last, found) = upkeep::positions(&upkeep)?;
        // A hub that just starts has other things to do.
        if known.is_none() && !upkeep::is_due(last, found, settings.log_snapshot) {
            return Ok(Done {
                snapshot: found,
                removed: 0,
            });
        }
        upkeep::keep(&upkeep, settings, &|| stop.is_cancelled())
    });
    match round.await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "the log's upkeep has failed");
            Err(Unfinished::Closed)
        }
    }
}
