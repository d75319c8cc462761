//! The handling of one message as a run, from its first event to the answer.

mod driving;
mod forking;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use agenthub_proto::a2a::TaskState;
use agenthub_runs::{LeasedRun, RunEvent, RunStarted, World, journal};
use tokio::time::{sleep, timeout};

use super::{
    InFlightGuard, ending, giving_up,
    origin::Origin,
    own_runs::TellError,
    questions::is_same,
    runs::{ANSWER, HeldRun, Runs},
    work::{self, Job, panicked},
};
use crate::{Client, Conductor, Error, Failure, TaskContext, connection::Lease, deadline::millis};

/// Pause before the hub is asked for a task again, or the world of a run is made again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Times that the world of a run is made that panics on the way.
const WORLD_TRIES: u32 = 3;

/// A message that is a run.
pub(super) struct Conducted {
    pub(super) runs: Arc<Runs>,
    pub(super) held: HeldRun,
    pub(super) conductor: Arc<dyn Conductor>,
    pub(super) context: TaskContext,
    pub(super) lease: Option<Lease>,
    pub(super) guard: InFlightGuard,
}

/// A run that begins.
pub(super) struct Beginning {
    /// Its first events: one, or more of a fork.
    pub(super) first: Vec<RunEvent>,
    pub(super) world: Arc<dyn World>,
}

impl Conducted {
    /// The message, of which no run is made.
    pub(super) fn into_job(self) -> Job {
        Job {
            context: self.context,
            lease: self.lease,
            guard: self.guard,
        }
    }

    /// The beginning of this message's run. The task is shown as WORKING first.
    ///
    /// # Errors
    ///
    /// The task ends so, without a run.
    pub(super) async fn begin(&self) -> Result<Beginning, Failure> {
        self.show_begun().await;
        self.forked(self.beginning()?).await
    }

    /// Shows the task as WORKING.
    pub(super) async fn show_begun(&self) {
        // An error says that the connection is closed: the run will find out.
        let _ = self.context.publish_update("").await;
    }

    /// The beginning of this message's run, of which nobody is told.
    ///
    /// # Errors
    ///
    /// There is no run.
    pub(super) fn beginning(&self) -> Result<Beginning, Failure> {
        let begin = AssertUnwindSafe(|| {
            let beginning = self.conductor.begin(&self.context)?;
            let world = self.conductor.world(&self.context, self.held.run());
            Ok((beginning, world))
        });
        let (beginning, world) = std::panic::catch_unwind(begin)
            .unwrap_or_else(|panic| Err(panicked(panic.as_ref())))?;
        let origin = Origin {
            message: self.context.message().clone(),
            routing: self.context.routing().clone(),
            trace: self.context.trace(),
        };
        let started = RunStarted {
            strategy: self.conductor.strategy().name().to_owned(),
            input: beginning.input,
            thread: self.context.context_id().to_owned(),
            origin: origin.write(),
            budget: beginning.budget.within(self.context.granted()),
            deadline_ms: self.context.deadline().map(millis),
            at_ms: millis(self.context.client().now()),
        };
        Ok(Beginning {
            first: vec![RunEvent::Started(started)],
            world,
        })
    }

    /// Drives a run from its beginning. Returns what is to be given back for others, if it was not handled.
    pub(super) async fn run(mut self, beginning: Beginning) -> Option<Lease> {
        let hand = self.open(&beginning.first).await?;
        if let Some(recorded) = self.runs.duty.recorder() {
            // An executor waits for the lease otherwise.
            let _ = timeout(ANSWER, hand.release()).await;
            // Where there is no room, the run is found in the journal.
            let _ = recorded.try_send(self.held.run().clone());
            return None;
        }
        self.drive(hand, beginning.world, None).await
    }

    /// True if the message is not the one with which its task began. Asked for until the hub answers or the agent stops.
    pub(super) async fn is_follow_up(&self) -> bool {
        let task_id = self.context.task_id();
        if task_id.is_empty() {
            return false;
        }
        loop {
            match self
                .context
                .client()
                .task(task_id, Client::WHOLE_HISTORY)
                .await
            {
                Ok(task) => {
                    let first = task.history.first();
                    return first.is_some_and(|first| !is_same(first, self.context.message()));
                }
                Err(error) if error.is_retryable() => {
                    tracing::debug!(task_id, %error, "not known yet whether a message begins its task");
                }
                Err(_) => return false,
            }
            tokio::select! {
                () = self.runs.stop.cancelled() => return false,
                () = sleep(ASK_AGAIN) => {}
            }
        }
    }

    /// Leaves a message to the executor that has its run, or will have it.
    pub(super) async fn leave_to_executor(mut self) -> Option<Lease> {
        ending::acknowledge(&self.context, self.lease.take()).await;
        None
    }

    /// Goes on with a run that began earlier. Returns what is to be given back for others, if it was not handled.
    pub(super) async fn take_up(mut self) -> Option<Lease> {
        let gone = match self.gone().await {
            Ok(gone) => gone,
            Err(Stopped) => return self.lease,
        };
        let world = match self.world().await {
            Ok(Ok(world)) => world,
            Ok(Err(failure)) => return self.give_up(&failure.text, gone).await,
            Err(Stopped) => return self.lease,
        };
        let hand = self.open(&[]).await?;
        tracing::info!(run = %self.held.run(), "a run is taken up");
        self.drive(hand, world, gone).await
    }

    /// Takes the run in hand. In a journal that survives, the message is done with from here on. Nothing if there is nothing to drive.
    pub(super) async fn open(&mut self, first: &[RunEvent]) -> Option<LeasedRun> {
        let driver = self.runs.driver();
        let opening = driver.open_with(self.held.run().clone(), self.runs.owner(), first);
        let error = match timeout(ANSWER, opening).await {
            Ok(Ok(hand)) => {
                if self.runs.is_durable() {
                    ending::acknowledge(&self.context, self.lease.take()).await;
                }
                return Some(hand);
            }
            Ok(Err(error)) => error,
            Err(_) => journal::JournalError::Unavailable("no answer in time".to_owned()),
        };
        let lease = self.lease.take();
        match error {
            // It is written down: whoever has it goes on, and who dies leaves it to be found.
            journal::JournalError::Leased { .. } | journal::JournalError::NotFound(_)
                if self.runs.is_durable() =>
            {
                ending::acknowledge(&self.context, lease).await;
            }
            journal::JournalError::Unreadable { .. } => {
                let why = error.to_string();
                tracing::error!(run = %self.held.run(), why, "a run is given up");
                conclude_failed(&self.context, &why, lease).await;
                giving_up::close(&self.runs, self.held.run(), &why).await;
                self.held.abandon();
            }
            error => {
                tracing::warn!(run = %self.held.run(), %error, "a run could not be taken in hand");
                work::put_off(&self.context, lease, "its run cannot be driven at present").await;
            }
        }
        None
    }

    /// The reason why the run is of no use to anybody any more, if it is so.
    async fn gone(&self) -> Result<Option<String>, Stopped> {
        let task_id = self.context.task_id();
        if task_id.is_empty() {
            return Ok(None);
        }
        loop {
            match self.context.client().task(task_id, -1).await {
                Ok(task) if task.state().is_terminal() => {
                    return Ok(Some(format!("the task is {}", task.state().label())));
                }
                Ok(task) => {
                    if task.state() == TaskState::Submitted {
                        self.show_begun().await;
                    }
                    return Ok(None);
                }
                Err(Error::NotFound(_)) => match self.is_untold().await {
                    Ok(false) => return Ok(Some("the hub no longer knows the task".to_owned())),
                    Ok(true) => match self.tell_of_task().await {
                        Ok(()) => {
                            self.show_begun().await;
                            return Ok(None);
                        }
                        Err(TellError::Stopping) => return Err(Stopped),
                        Err(TellError::Refused(error)) => {
                            return Ok(Some(format!("the hub does not take its task: {error}")));
                        }
                    },
                    Err(error) => tracing::debug!(task_id, %error, "the journal cannot be read"),
                },
                Err(error) => tracing::debug!(task_id, %error, "the hub cannot be asked yet"),
            }
            tokio::select! {
                () = self.runs.stop.cancelled() => return Err(Stopped),
                () = sleep(ASK_AGAIN) => {}
            }
        }
    }

    /// The world that the run acts in. Making it is tried three times.
    async fn world(&self) -> Result<Result<Arc<dyn World>, Failure>, Stopped> {
        for left in (0..WORLD_TRIES).rev() {
            let make = || self.conductor.world(&self.context, self.held.run());
            let panic = match std::panic::catch_unwind(AssertUnwindSafe(make)) {
                Ok(world) => return Ok(Ok(world)),
                Err(panic) => panicked(panic.as_ref()),
            };
            tracing::error!(run = %self.held.run(), error = %panic, "a run has no world to act in");
            if left == 0 {
                return Ok(Err(panic));
            }
            tokio::select! {
                () = self.runs.stop.cancelled() => return Err(Stopped),
                () = sleep(ASK_AGAIN) => {}
            }
        }
        unreachable!("the last try returns")
    }
}

/// Tells who waits for a run that it cannot go on.
async fn conclude_failed(context: &TaskContext, why: &str, lease: Option<Lease>) {
    match context.task_id().is_empty() {
        true => ending::acknowledge(context, lease).await,
        false => {
            let failure = ending::cannot_go_on(why);
            ending::conclude(context, Err(failure), lease).await;
        }
    }
}

/// The agent stops.
struct Stopped;
