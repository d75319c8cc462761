//! Snapshots and retention of the log on disk, while the hub runs and when it ends.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    Settings,
    log::{Commits, Unfinished, Upkeep},
    upkeep::{self, SettledTasks, Standing},
};

/// Interval of checks of the log's size.
const LOOK: Duration = Duration::from_secs(60);
/// Interval of checks for old records.
const ROUND: Duration = Duration::from_secs(3600);
/// Pause after a failed round.
const PAUSE: Duration = Duration::from_secs(60);
/// Pause after a snapshot, as a multiple of its duration: a snapshot may be as large as the whole state.
const REST: u32 = 9;
/// Maximum wait for the log before a round.
const SAFE: Duration = Duration::from_millis(500);
/// Maximum duration of the snapshot of a hub that ends.
const LAST: Duration = Duration::from_millis(1500);

/// Keeps the log short until cancelled: after a number of records or bytes, every hour, and once more at the end.
pub(crate) async fn keep_log(hub: Hub, upkeep: Upkeep, stop: CancellationToken) {
    let mut known: Option<Standing> = None;
    let mut soon = Instant::now() + upkeep::SOON;
    let mut rest_ends = Instant::now();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut next_round = Instant::now() + ROUND;
    loop {
        let grown = async {
            tokio::time::sleep_until(rest_ends).await;
            until_grown(hub.commits(), known, soon, hub.settings()).await
        };
        tokio::select! {
            () = stop.cancelled() => break,
            is_there = grown => if !is_there {
                return;
            },
            _ = look.tick() => {}
        }
        let is_round = Instant::now() >= next_round;
        let stopped = stop.clone();
        let round = Round {
            before: known,
            must: is_round,
            must_stop: Box::new(move || stopped.is_cancelled()),
        };
        let began = Instant::now();
        match round.run(&hub, &upkeep).await {
            Ok(standing) => {
                if known.is_some_and(|k| k.snapshot < standing.snapshot) {
                    soon = Instant::now() + upkeep::SOON;
                    rest_ends = Instant::now() + REST * began.elapsed();
                }
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

/// Waits until the log has grown enough for another snapshot; forever while its size is unknown. Returns `false` if the
/// log fails.
async fn until_grown(
    commits: &Commits,
    known: Option<Standing>,
    soon: Instant,
    settings: &Settings,
) -> bool {
    let Some(known) = known else {
        return std::future::pending().await;
    };
    let few = settings.log_snapshot;
    let many = few.saturating_mul(upkeep::MANY);
    let has_grown = |records| commits.safe(upkeep::due_at(known.snapshot, records));
    let is_there = match timeout_at(soon, has_grown(many)).await {
        Ok(is_there) => is_there,
        Err(_elapsed) => has_grown(few).await,
    };
    is_there.is_ok()
}

/// The final snapshot shortens the next start, also for a hub that never runs for long.
async fn last_round(hub: &Hub, upkeep: &Upkeep) {
    let end = std::time::Instant::now() + LAST;
    let round = Round {
        before: None,
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

/// One round on its own thread: checks the log, and compacts it if needed. Ends soon when told to, and is waited for.
struct Round {
    /// State of the log after the last round that did something.
    before: Option<Standing>,
    /// True to run regardless of the log's size.
    must: bool,
    must_stop: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Round {
    async fn run(self, hub: &Hub, upkeep: &Upkeep) -> Result<Standing, Unfinished> {
        self.run_if(hub, upkeep, |_, _| false).await
    }

    /// Returns the state of the log afterwards, or after the last round if nothing was done.
    async fn run_if(
        self,
        hub: &Hub,
        upkeep: &Upkeep,
        also: fn(&Standing, &Settings) -> bool,
    ) -> Result<Standing, Unfinished> {
        let (hub, upkeep) = (hub.clone(), upkeep.clone());
        let settled = settled_tasks(&hub).await;
        let round = tokio::task::spawn_blocking(move || {
            let settings = hub.settings();
            let standing = upkeep::standing(&upkeep)?;
            let before = self.before.unwrap_or(Standing {
                bytes: 0,
                ..standing
            });
            let is_due = upkeep::is_due(&standing, &before, settings);
            if !(is_due || self.must || also(&standing, settings)) {
                return Ok(before);
            }
            let done = upkeep::keep(&upkeep, settings, settled, &*self.must_stop)?;
            if let Some(changed) = done.ended {
                hub.core().state.tasks.set_stored(changed);
            }
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

/// Settled tasks of the hub, once everything up to the current end of the log is durable; `None` if that takes long.
async fn settled_tasks(hub: &Hub) -> Option<SettledTasks> {
    let settled = hub.core().settled_tasks();
    let is_safe = hub.commits().safe(settled.position);
    timeout(SAFE, is_safe).await.ok()?.ok()?;
    Some(settled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Commit, Committer, Position};

    /// Time until the next snapshot of a log that grows at this rate, where a hundred records are enough otherwise.
    async fn grows(records_a_second: u64) -> Duration {
        let log = Committer::new(Commit::Upto(Position(0)));
        let commits = log.subscribe();
        let start = Instant::now();
        let growing = async {
            for second in 1.. {
                tokio::time::sleep(Duration::from_secs(1)).await;
                log.announce(Commit::Upto(Position(second * records_a_second)));
            }
        };
        let known = Standing {
            last: Position(0),
            snapshot: Position(0),
            bytes: 0,
        };
        let settings = Settings {
            log_snapshot: 100,
            ..Settings::default()
        };
        let soon = start + upkeep::SOON;
        tokio::select! {
            () = growing => unreachable!("it has no end"),
            is_there = until_grown(&commits, Some(known), soon, &settings) => assert!(is_there),
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_grows_fast_has_fewer_snapshots() {
        let took = [10, 20, 50, 99, 125, 250, 500].map(|records| async move {
            let took = grows(records).await;
            took.as_secs()
        });
        let took = futures_util::future::join_all(took).await;
        assert_eq!(took, [10, 5, 5, 5, 4, 2, 1]);
    }

    #[tokio::test]
    async fn a_log_that_has_failed_is_kept_no_more() {
        let log = Committer::new(Commit::Failed("so".to_owned()));
        let commits = log.subscribe();
        let known = Standing {
            last: Position(0),
            snapshot: Position(0),
            bytes: 0,
        };
        let soon = Instant::now();
        let settings = Settings::default();
        assert!(!until_grown(&commits, Some(known), soon, &settings).await);
    }
}
