//! The one reader of results for all runs of a journal.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use agenthub_bus::{
    BusError, Delivery, Group, Groups,
    messages::{Inbox, RESULTS, TaskResult},
};
use agenthub_sdk::{
    durable::Journal,
    runs::{
        RunId,
        boundaries::{Boundary, reached},
        journal::JournalError,
    },
};
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{BusRoute, PAUSE};

/// The one member of a process's group.
const READER: &str = "reader";

/// Results that are written into the journal at the same time, at most.
const AT_ONCE: usize = 256;

/// Longest pause before a result is written again, as its writer broke off.
const LONGEST_PAUSE: Duration = Duration::from_mins(8);

/// Time for the reader to leave its group.
const LEAVING: Duration = Duration::from_secs(3);

/// Reads results from the bus into a journal. [`stop`](Self::stop) it; dropping it breaks it off, and what was not written comes again.
#[derive(Debug)]
pub struct ResultReader {
    stop: CancellationToken,
    reading: JoinSet<()>,
}

impl ResultReader {
    /// Starts reading. Each reader gets every result, so `group` is a name of this process's own, which no other one has meanwhile, and the same when it
    /// starts again. Processes that share a journal each write every result into it; the first one counts.
    ///
    /// spec: EXE-3.2
    pub fn start(
        route: &BusRoute,
        groups: Arc<dyn Groups>,
        group: impl Into<String>,
        journal: Arc<dyn Journal>,
    ) -> Self {
        let stop = CancellationToken::new();
        let reader = Reader {
            route: route.clone(),
            groups,
            group: Group {
                in_flight: AT_ONCE,
                member: Some(READER.to_owned()),
                ..Group::new(group, [RESULTS])
            },
            journal,
        };
        let mut reading = JoinSet::new();
        reading.spawn(reader.run(stop.clone()));
        Self { stop, reading }
    }

    /// Stops reading. Takes 3 s at most.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if tokio::time::timeout(LEAVING, self.reading.join_next())
            .await
            .is_err()
        {
            tracing::warn!("the reader of results did not leave its group in time");
        }
    }
}

struct Reader {
    route: BusRoute,
    groups: Arc<dyn Groups>,
    group: Group,
    journal: Arc<dyn Journal>,
}

impl Reader {
    async fn run(self, stop: CancellationToken) {
        loop {
            let (groups, bus) = (Arc::clone(&self.groups), Arc::clone(&self.route.bus));
            let inbox = tokio::select! {
                () = stop.cancelled() => return,
                inbox = Inbox::join(groups, self.group.clone(), bus) => inbox,
            };
            let left = match inbox {
                Ok(inbox) => self.read(inbox, &stop).await,
                Err(error) => Err(error),
            };
            let Err(error) = left else {
                return;
            };
            tracing::warn!(group = self.group.name, %error, "results of agents cannot be read: trying again");
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(PAUSE) => {}
            }
        }
    }

    /// Reads until it is told to stop.
    ///
    /// # Errors
    ///
    /// The bus does not let this member in any more.
    async fn read(
        &self,
        mut inbox: Inbox<TaskResult>,
        stop: &CancellationToken,
    ) -> Result<(), BusError> {
        let mut writing = JoinSet::new();
        let left = loop {
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                next = inbox.next() => match next {
                    Ok((result, delivery)) => {
                        let (journal, route) = (Arc::clone(&self.journal), self.route.clone());
                        writing.spawn(async move { write(&journal, &route, &result, delivery).await });
                    }
                    Err(error) => break Err(error),
                },
                Some(_) = writing.join_next() => {}
            }
        };
        writing.shutdown().await;
        inbox.leave().await;
        left
    }
}

/// Writes a result into the journal, for as long as that takes; only then the bus may forget it. What panics is tried again, after pauses that double:
/// the result stays out, and others are not disturbed.
async fn write(
    journal: &Arc<dyn Journal>,
    route: &BusRoute,
    result: &TaskResult,
    delivery: Delivery,
) {
    let task_id = &result.task_id;
    reached(Boundary::ResultReceived, task_id).await;
    let mut pause = PAUSE;
    while AssertUnwindSafe(take_in(journal, result))
        .catch_unwind()
        .await
        .is_err()
    {
        tracing::error!(task_id, "the writer of a result broke off, and tries again");
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    reached(Boundary::ResultTakenIn, task_id).await;
    delivery.acknowledge();
    route.arrivals.arrived(task_id);
}

/// Writes a result into the journal once that can be reached. A result of another journal's run is left out.
async fn take_in(journal: &Arc<dyn Journal>, result: &TaskResult) {
    let (run, text) = (RunId::new(&*result.run_id), json!(result).to_string());
    loop {
        match journal.take_in(&run, &result.task_id, &text).await {
            Ok(_) => return,
            Err(JournalError::Unavailable(why)) => {
                tracing::warn!(%run, why, "a result waits for the journal");
                sleep(PAUSE).await;
            }
            Err(error) => {
                tracing::error!(%run, task_id = result.task_id, %error, "a result is left out");
                return;
            }
        }
    }
}
