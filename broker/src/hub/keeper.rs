//! Snapshots and retention of the log on disk, while the hub goes on and when it ends.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    log::{Commit, Unfinished, Upkeep},
    upkeep::{self, Standing},
};

/// How often it is looked at how large the log is.
const LOOK: Duration = Duration::from_secs(60);
/// How often it is looked at what has become old.
const ROUND: Duration = Duration::from_secs(3600);
/// How long nothing is tried after it could not be done.
const PAUSE: Duration = Duration::from_secs(60);
/// How long a hub that ends takes for a snapshot at most.
const LAST: Duration = Duration::from_millis(1500);

/// Keeps the log short until it is cancelled: every so many records and bytes, every hour, and once more at the end.
pub(crate) async fn keep_log(hub: Hub, upkeep: Upkeep, stop: CancellationToken) {
    let mut commits = hub.commits();
    let settings = hub.settings();
    let mut known: Option<Standing> = None;
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut next_round = Instant::now() + ROUND;
    loop {
        let every = known.map_or(settings.log_snapshot, |k| upkeep::pace(&k, settings));
        let has_grown = |c: &Commit| {
            let last = c.position();
            known
                .is_some_and(|k| last.is_none_or(|last| upkeep::has_grown(last, k.snapshot, every)))
        };
        tokio::select! {
            () = stop.cancelled() => break,
            grown = commits.wait_for(has_grown) => match grown.as_deref() {
                Ok(Commit::Upto(_) | Commit::Full(_)) => {}
                Ok(Commit::Failed(_)) | Err(_) => return,
            },
            _ = look.tick() => {}
        }
        let is_round = Instant::now() >= next_round;
        let stopped = stop.clone();
        let round = Round {
            before: known,
            every,
            must: is_round,
            must_stop: Box::new(move || stopped.is_cancelled()),
        };
        match round.run(&hub, &upkeep).await {
            Ok(standing) => {
                known = Some(standing);
                if is_round {
                    next_round = Instant::now() + ROUND;
                }
            }
            Err(Unfinished::Stopped) => break,
            Err(Unfinished::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "the log's upkeep is put off");
                let pause = tokio::time::sleep(PAUSE);
                if stop.run_until_cancelled(pause).await.is_none() {
                    break;
                }
            }
        }
    }
    last_round(&hub, &upkeep).await;
}

/// A hub that starts again has less to read behind a snapshot, also one that never runs for long.
async fn last_round(hub: &Hub, upkeep: &Upkeep) {
    let end = std::time::Instant::now() + LAST;
    let round = Round {
        before: None,
        every: hub.settings().log_snapshot,
        must: false,
        must_stop: Box::new(move || std::time::Instant::now() >= end),
    };
    if let Err(error) = round
        .run_if(hub, upkeep, upkeep::is_worth_it_at_the_end)
        .await
    {
        tracing::debug!(%error, "the log has no snapshot of its end");
    }
}

/// One look at the log, and what is done then, on a thread of its own. It ends soon once it must, and is waited for.
struct Round {
    /// How the log stood after the last round that did something.
    before: Option<Standing>,
    /// The records from one snapshot to the next.
    every: u64,
    /// It is time, whatever the log's size.
    must: bool,
    must_stop: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Round {
    async fn run(self, hub: &Hub, upkeep: &Upkeep) -> Result<Standing, Unfinished> {
        self.run_if(hub, upkeep, |_, _| false).await
    }

    /// Returns how the log stands after it, or how it stood after the round before if nothing was done.
    async fn run_if(
        self,
        hub: &Hub,
        upkeep: &Upkeep,
        also: fn(&Standing, &crate::Settings) -> bool,
    ) -> Result<Standing, Unfinished> {
        let (hub, upkeep) = (hub.clone(), upkeep.clone());
        let round = tokio::task::spawn_blocking(move || {
            let settings = hub.settings();
            let standing = upkeep::standing(&upkeep)?;
            let before = self.before.unwrap_or(Standing {
                bytes: 0,
                ..standing
            });
            let is_due = upkeep::is_due(&standing, &before, self.every, settings);
            if !(is_due || self.must || also(&standing, settings)) {
                return Ok(before);
            }
            let done = upkeep::keep(&upkeep, settings, &*self.must_stop)?;
            tracing::debug!(
                position = done.snapshot.0,
                removed = done.removed,
                "the log is kept"
            );
            Ok(upkeep::standing(&upkeep)?)
        });
        round.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the log's upkeep has failed");
            Err(Unfinished::Closed)
        })
    }
}
