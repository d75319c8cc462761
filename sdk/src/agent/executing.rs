//! Execution of one run of an agent by a process of its own.
//!
//! An executor is a further connection of the agent, without its card and its messages. It takes the run's lease in the journal, drives the run
//! and ends with it. Of the hub it gets cancellations, what comes back in the run's conversation, and decisions of people.

use std::{sync::Arc, time::Duration};

use agenthub_runs::{
    Journal, RunEvent, RunId, RunOutcome, RunStarted,
    journal::{self, JournalError},
};
use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

use super::{
    Agent,
    duty::{Duty, End, Execution},
    giving_up,
    origin::Origin,
    recovery::Orphan,
    running,
    runs::{ANSWER, Runs},
};
use crate::Error;

/// Pause before a run is tried again that another driver has.
const PAUSE: Duration = Duration::from_millis(500);

/// A run that an executor drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutedRun {
    /// The run.
    pub run: RunId,
    /// Name of the executor as driver in the journal. The same name takes over its own run at once, so live executors must not share one.
    pub driver: String,
    /// Ends the run as failed, for this reason, in place of going on with it.
    pub give_up: Option<String>,
}

/// End of an executor.
#[derive(Clone, Debug, PartialEq)]
pub enum Executed {
    /// The run is over.
    Over(RunOutcome),
    /// Told to stop first. The run's lease is free, and another executor goes on with it.
    Left,
}

/// Errors of an executor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecuteError {
    /// The run is none of this agent's.
    #[error("run {run} is none of {agent}: {why}")]
    NotItsRun {
        /// The run.
        run: RunId,
        /// The agent.
        agent: String,
        /// Reason.
        why: String,
    },
    /// The run is not over, and cannot be driven here.
    #[error("run {run} cannot be driven here: {why}")]
    Abandoned {
        /// The run.
        run: RunId,
        /// Reason.
        why: String,
    },
    /// The agent has no journal that survives its process.
    #[error("an executor needs a journal that survives its process")]
    NoJournal,
    /// The journal does not answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The hub does not take the executor.
    #[error(transparent)]
    Hub(#[from] Error),
}

impl Agent {
    /// Executes one run of this agent that its journal has, and ends with it. Where another driver has the run, waits until its lease is over or the run
    /// is. Messages are left to other processes of the agent.
    ///
    /// When `shutdown` is ready, the run is let go for another executor: nothing more begins, and agents at work go on meanwhile.
    ///
    /// # Errors
    ///
    /// [`ExecuteError`].
    pub async fn execute(
        self,
        hub_url: impl Into<String>,
        executed: ExecutedRun,
        shutdown: impl Future,
    ) -> Result<Executed, ExecuteError> {
        let mut builder = self.parts;
        let agent = builder.card.name.clone();
        let journal = builder.journal.clone().filter(|j| j.is_durable());
        let journal = journal.ok_or(ExecuteError::NoJournal)?;
        let ExecutedRun {
            run,
            driver,
            give_up,
        } = executed;
        let origin = origin_of(&*journal, &run, &agent).await?;
        let (end, mut ends) = watch::channel(None);
        builder.duty = Duty::Execute(Arc::new(Execution {
            run: run.clone(),
            driver,
            context: origin.message.context_id,
            give_up,
            end,
        }));
        let running = running::start(builder, hub_url.into()).await?;
        let closed = tokio::select! {
            _ = ends.wait_for(Option::is_some) => None,
            _ = shutdown => None,
            reason = running.closed() => Some(reason),
        };
        running.stop().await;
        let end = ends.borrow().clone();
        match (end, closed) {
            (Some(End::Over(outcome)), _) => Ok(Executed::Over(outcome)),
            (Some(End::Abandoned(why)), _) => Err(ExecuteError::Abandoned { run, why }),
            (None, Some(reason)) => Err(Error::Closed(reason).into()),
            (None, None) => Ok(Executed::Left),
        }
    }
}

/// The message of a run.
///
/// # Errors
///
/// There is no such run, it is another agent's, or the journal does not answer.
async fn origin_of(
    journal: &dyn Journal,
    run: &RunId,
    agent: &str,
) -> Result<Origin, ExecuteError> {
    let not_its = |why: &str| ExecuteError::NotItsRun {
        run: run.clone(),
        agent: agent.to_owned(),
        why: why.to_owned(),
    };
    let first = match timeout(ANSWER, journal.read(run, 0, 1)).await {
        Ok(Ok(entries)) => entries.into_iter().next(),
        Ok(Err(JournalError::NotFound(_))) => return Err(not_its("there is no such run")),
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => {
            let error = JournalError::Unavailable("no answer in time".to_owned());
            return Err(error.into());
        }
    };
    let Some(RunEvent::Started(started)) = first.map(|entry| entry.event) else {
        return Err(not_its("it does not say how it began"));
    };
    let origin = Origin::read(&started.origin);
    let origin = origin.ok_or_else(|| not_its("it is for no message"))?;
    let is_its = Agent::run_of(agent, &origin.message.task_id, &origin.message.message_id) == *run;
    match is_its {
        true => Ok(origin),
        false => Err(not_its(
            "it is another agent's, or of a message without a task",
        )),
    }
}

/// Has the run taken up whenever this process does not have it in hand, until its end is known.
pub(super) async fn find(runs: Arc<Runs>, execution: Arc<Execution>, found: mpsc::Sender<Orphan>) {
    let run = &execution.run;
    while execution.end.borrow().is_none() {
        if !runs.has(run) {
            match runs.begun(run).await {
                Ok(begun) => match begun.and_then(|started| orphan(run, started)) {
                    Some(orphan) => {
                        if found.send(orphan).await.is_err() {
                            return;
                        }
                    }
                    None => execution.ends(End::Abandoned("it is gone".to_owned())),
                },
                Err(error @ journal::JournalError::Unreadable { .. }) => {
                    let why = error.to_string();
                    giving_up::close(&runs, run, &why).await;
                    execution.ends(End::Abandoned(why));
                }
                Err(error) => tracing::warn!(%run, %error, "the run cannot be taken up yet"),
            }
        }
        sleep(PAUSE).await;
    }
}

fn orphan(run: &RunId, started: RunStarted) -> Option<Orphan> {
    let RunStarted {
        strategy, origin, ..
    } = started;
    Some(Orphan {
        run: run.clone(),
        strategy,
        origin: Origin::read(&origin)?,
    })
}
