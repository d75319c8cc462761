//! Snapshots and retention of the log on disk, while the hub goes on and when it ends.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    Settings,
    log::{Commits, Unfinished, Upkeep},
    upkeep::{self, SettledTasks, Standing},
};

/// How often it is looked at how large the log is.
const LOOK: Duration = Duration::from_secs(60);
/// How often it is looked at what has become old.
const ROUND: Duration = Duration::from_secs(3600);
/// How long nothing is tried after it could not be done.
const PAUSE: Duration = Duration::from_secs(60);
/// The pause behind a snapshot, as a multiple of the time that it took: it may be as large as all that is remembered.
const REST: u32 = 9;
/// Longest wait for the log before a round.
const SAFE: Duration = Duration::from_millis(500);
/// How long a hub that ends takes for a snapshot at most.
const LAST: Duration = Duration::from_millis(1500);

/// Keeps the log short until it is cancelled: every so many records and bytes, every hour, and once more at the end.
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

/// Waits until the log has grown enough for another snapshot; for ever while nothing is known of it. Returns `false` if it fails before.
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

/// A hub that starts again has less to read behind a snapshot, also one that never runs for long.
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

/// One look at the log, and what is done then, on a thread of its own. It ends soon once it must, and is waited for.
struct Round {
    /// How the log stood after the last round that did something.
    before: Option<Standing>,
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

/// Settled tasks of the hub, once the log is safe up to where it ends now; `None` if that takes long.
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

    /// How long it takes until a log that grows so fast, a hundred records being enough otherwise, gets another snapshot.
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
