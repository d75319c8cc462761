//! Finds the runs that nobody drives any more.

use std::{sync::Arc, time::Duration};

use agenthub_runs::{Driver, Journal, RunId, RunStarted, journal};
use tokio::{
    sync::mpsc,
    time::{Instant, error::Elapsed, sleep, timeout},
};

use super::{
    giving_up,
    origin::Origin,
    runs::{ANSWER, Runs},
};

/// Pause between two looks: an orphan is found soon after its lease is over.
const PAUSE: Duration = Duration::from_secs(Driver::LEASE.as_secs() / 3);

/// Pause where there may be more than what was looked for.
const PAUSE_BETWEEN: Duration = Duration::from_millis(200);

/// Interval at which those are forgotten.
const TIDY: Duration = Duration::from_secs(3600);

/// A run that is not over and that nobody drives.
#[derive(Debug)]
pub(super) struct Orphan {
    pub(super) run: RunId,
    pub(super) strategy: String,
    pub(super) origin: Origin,
}

/// Looks at once and then again and again, for as long as somebody takes what is found. `most` is how many are of interest at one time.
pub(super) async fn find(runs: Arc<Runs>, found: mpsc::Sender<Orphan>, most: usize) {
    let Some(journal) = runs.journal().cloned() else {
        return;
    };
    let mut tidied: Option<Instant> = None;
    loop {
        let mut pause = PAUSE;
        // What does not survive begins again with its message.
        // Of runs that executors drive, they find what is left behind.
        let looked = match runs.is_durable() && runs.duty.recorder().is_none() {
            true => look(&runs, &*journal, most).await,
            false => Ok(Vec::new()),
        };
        match looked {
            Ok(orphans) => {
                if orphans.len() >= most {
                    pause = PAUSE_BETWEEN;
                }
                for orphan in orphans {
                    if found.send(orphan).await.is_err() {
                        return;
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "no look for runs that were left behind"),
        }
        if tidied.is_none_or(|at| at.elapsed() >= TIDY) {
            tidied = Some(Instant::now());
            tidy(&runs, &*journal).await;
        }
        sleep(pause).await;
    }
}

/// Lets go of what is over for longer than it is to be kept.
async fn tidy(runs: &Runs, journal: &dyn Journal) {
    let (owner, keep) = (runs.owner(), runs.keep);
    if keep.outcomes > keep.runs {
        let condensed = timeout(ANSWER, journal.condense(owner, keep.runs));
        tell(condensed.await, keep.runs, "cut down to what came of them");
    }
    let longest = keep.runs.max(keep.outcomes);
    let forgotten = timeout(ANSWER, journal.forget(owner, longest));
    tell(forgotten.await, longest, "forgotten");
}

/// Logs what became of runs.
fn tell(count: Result<Result<u64, journal::JournalError>, Elapsed>, keep: Duration, what: &str) {
    match count {
        Ok(Ok(0)) => {}
        Ok(Ok(count)) => {
            let days = keep.as_secs() / (24 * 3600);
            tracing::info!(count, days, "runs were {what} that were over for longer");
        }
        Ok(Err(error)) => tracing::warn!(%error, "runs that are over were not {what}"),
        // The journal goes on with it; what is left comes the next time.
        Err(_) => tracing::debug!("it takes long until the runs that are over are {what}"),
    }
}

async fn look(
    runs: &Runs,
    journal: &dyn Journal,
    most: usize,
) -> Result<Vec<Orphan>, journal::JournalError> {
    let driver = runs.driver();
    // What this process drives is free for its driver as well, and what it abandoned may be.
    let limit = most + runs.count();
    let asking = journal.adoptable(runs.owner(), driver.name(), limit);
    let free = timeout(ANSWER, asking)
        .await
        .map_err(|_| journal::JournalError::Unavailable("no answer in time".to_owned()))??;
    let mut orphans = Vec::new();
    for run in free.into_iter().filter(|run| !runs.has(run)) {
        match runs.begun(&run).await {
            Ok(Some(RunStarted {
                strategy, origin, ..
            })) => match Origin::read(&origin) {
                Some(origin) => orphans.push(Orphan {
                    run,
                    strategy,
                    origin,
                }),
                None => {
                    let why = "it does not say what it is for";
                    tracing::error!(%run, why, "a run is given up, and nobody can be told");
                    giving_up::end_untold(runs, &run, why).await;
                }
            },
            Ok(None) => {}
            Err(error @ journal::JournalError::Unreadable { .. }) => {
                let why = error.to_string();
                tracing::error!(%run, why, "a run is given up, and nobody can be told");
                giving_up::close(runs, &run, &why).await;
            }
            Err(error) => tracing::warn!(%run, %error, "a run cannot be taken up yet"),
        }
    }
    Ok(orphans)
}
