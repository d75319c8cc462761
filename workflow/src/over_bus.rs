//! Steps that go to agents over a bus: a task on one topic, its result on another one, their contents as claim checks.
//!
//! The journal has a step's request before it is published (`BusRoute::ask`), so whoever takes the run up publishes it again, under the same id. One
//! reader for all runs of a journal ([`ResultReader`]) writes each result into it before the bus forgets the result; the step finds it there,
//! whichever process it is in.

mod beginnings;
mod content;
mod reader;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    convert::Infallible,
    error::Error,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_bus::{
    Bus, BusError,
    messages::{Envelope, Outcome, TASKS, TaskRequest, TaskResult, message},
};
use agenthub_claims::{ClaimCheck, ClaimStore};
use agenthub_metrics::topics;
use agenthub_sdk::{
    TaskContext,
    durable::Journal,
    internal::span_of,
    runs::{
        DelegationResult, EffectFailure, RunId, SentHandoff,
        boundaries::{Boundary, reached},
    },
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

pub(crate) use beginnings::Beginnings;
pub use reader::ResultReader;

use self::content::{input_of, said_in};
use crate::monitoring::SOURCE;

/// Longest output that a step takes from an agent, in bytes: the journal keeps it.
const LONGEST_OUTPUT: u64 = 16 << 20;

/// Pause before a bus, a store or a journal is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Time after which a task without a result is published again. Then twice that, and so on, up to the longest. Not short, as each message
/// of a task that only waits in a backlog makes that longer.
const OVERDUE: Duration = Duration::from_mins(2);

/// Part of that after which the log tells of the task.
const TOLD_AFTER: u32 = 4;

/// Longest pause between two publishes of a task.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// Advice about a task without a result.
const LOOK_AT_BRIDGES: &str =
    "see that a bridge takes the tasks of this bus (`agenthub bridge`), and that the agent answers";

/// Pauses between two looks for a result that another process may write: the first, and the longest.
const LOOKS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// The way of steps to agents over a bus. Clones are the same way.
#[derive(Clone, Debug)]
pub struct BusRoute {
    bus: Arc<dyn Bus>,
    claims: ClaimStore,
    arrivals: Arc<Arrivals>,
    /// First pause before a task without a result is published again.
    overdue: Duration,
}

impl BusRoute {
    /// The way over this bus. Whoever calls the agents has the same store of claim checks.
    pub fn new(bus: Arc<dyn Bus>, claims: ClaimStore) -> Self {
        Self {
            bus,
            claims,
            arrivals: Arc::default(),
            overdue: OVERDUE,
        }
    }

    /// The bus.
    pub(crate) fn bus(&self) -> &Arc<dyn Bus> {
        &self.bus
    }

    /// Publishes a step's request as a task, and waits for its result in the journal, until the step's deadline. A request that was published
    /// before is published again, byte for byte, unless its result is there; so is one whose result does not come. `begun` is the time at
    /// which the step began, by its journal. Dropping the future takes nothing back.
    ///
    /// spec: EXE-3.1, EXE-3.5, EXE-10.1
    ///
    /// # Errors
    ///
    /// The bus or the store of claim checks refuses the request: nobody has it.
    pub(crate) async fn ask(
        &self,
        task: &TaskContext,
        run: &RunId,
        journal: &Arc<dyn Journal>,
        sent: &SentHandoff,
        begun: SystemTime,
    ) -> Result<DelegationResult, EffectFailure> {
        let request = Request {
            run,
            sent,
            begun,
            correlation_id: task.correlation_id(),
            trace: task.trace().at_span(span_of(&sent.message_id)).to_string(),
        };
        let waiting = self.arrivals.waiting(&sent.task_id);
        let left = Duration::from_millis(sent.deadline_ms.saturating_sub(now_ms()));
        topics::of_process().publishes(TASKS);
        let asked = timeout(left, async {
            reached(Boundary::IntentSaved, &sent.task_id).await;
            if taken_in(journal, run, &sent.task_id).await.is_none() {
                self.publish(&request).await?;
                reached(Boundary::Published, &sent.task_id).await;
            }
            let result = waiting.result(journal, run, &sent.task_id);
            let result = tokio::select! {
                result = result => result,
                never = self.remind(&request) => match never {},
            };
            Ok(self.read(sent, result).await)
        });
        asked.await.unwrap_or_else(|_| {
            let why = format!("no result came in time: {LOOK_AT_BRIDGES}");
            Ok(ended(sent, "timed-out", &why))
        })
    }

    /// Publishes a task again and again, after pauses that grow: it may have been lost, or its result. Whoever has its result publishes that again,
    /// and asks no agent. Never ends.
    async fn remind(&self, request: &Request<'_>) -> Infallible {
        let task_id = &request.sent.task_id;
        let (began, told) = (Instant::now(), self.overdue / TOLD_AFTER);
        sleep(told).await;
        let seconds = told.as_secs();
        tracing::warn!(
            task_id,
            "a task has no result after {seconds} s: {LOOK_AT_BRIDGES}"
        );
        sleep(self.overdue - told).await;
        let mut pause = self.overdue;
        loop {
            let seconds = began.elapsed().as_secs();
            tracing::warn!(
                task_id,
                "a task has no result after {seconds} s, and is published again: {LOOK_AT_BRIDGES}"
            );
            match self.publish(request).await {
                Ok(()) => topics::of_process().published_again(TASKS),
                Err(EffectFailure { message, .. }) => {
                    tracing::warn!(task_id, why = message, "a task cannot be published again");
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            sleep(pause).await;
        }
    }

    async fn publish(&self, request: &Request<'_>) -> Result<(), EffectFailure> {
        let (content, content_type) = input_of(&request.sent.handoff);
        let input = loop {
            let put = self
                .claims
                .put_at(request.begun, content.clone(), &content_type);
            match put.await {
                Ok(input) => break input,
                Err(error) if error.is_retryable() => {
                    tracing::warn!(run = %request.run, error = &error as &dyn Error, "the input of a step waits for its store");
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(EffectFailure::lasting(error.to_string())),
            }
        };
        reached(Boundary::InputStored, &request.sent.task_id).await;
        let message = [request.message(&input)];
        loop {
            match self.bus.publish(TASKS, &message).await {
                Ok(()) => return Ok(()),
                // It may have been published all the same; under its id it is the same task.
                Err(BusError::Unavailable(why)) => {
                    tracing::warn!(run = %request.run, why, "a task waits for the bus");
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(EffectFailure::lasting(error.to_string())),
            }
        }
    }

    /// The end of a step as its result says.
    async fn read(&self, sent: &SentHandoff, result: TaskResult) -> DelegationResult {
        let error = result.error_message.unwrap_or_default();
        let claim = match (result.status, result.output_claim_check) {
            (Outcome::Failed, _) => return ended(sent, "failed", &error),
            (Outcome::Completed, None) => return ended(sent, "completed", ""),
            (Outcome::Completed, Some(claim)) => claim,
        };
        let unreadable = |why: String| ended(sent, "failed", &format!("its output: {why}"));
        let parsed: ClaimCheck = match claim.parse() {
            Ok(parsed) => parsed,
            Err(error) => return unreadable(format!("{error}")),
        };
        loop {
            match self.claims.get(&claim, LONGEST_OUTPUT).await {
                Ok(content) => {
                    let (text, data) = said_in(&content, &parsed);
                    return DelegationResult {
                        text,
                        data,
                        ..ended(sent, "completed", "")
                    };
                }
                Err(error) if error.is_retryable() => {
                    tracing::warn!(
                        task_id = sent.task_id,
                        error = &error as &dyn Error,
                        "the output of a step waits for its store"
                    );
                    sleep(PAUSE).await;
                }
                Err(error) => return unreadable(error.to_string()),
            }
        }
    }
}

/// A step's request on its way.
struct Request<'a> {
    run: &'a RunId,
    sent: &'a SentHandoff,
    begun: SystemTime,
    correlation_id: &'a str,
    trace: String,
}

impl Request<'_> {
    /// spec: EXE-3.4, EXE-10.1
    fn message(&self, input: &ClaimCheck) -> agenthub_bus::Message {
        let Self { run, sent, .. } = self;
        let body = TaskRequest {
            run_id: run.to_string(),
            task_id: sent.task_id.clone(),
            agent_name: sent.handoff.agent.clone(),
            input_claim_check: input.to_string(),
            correlation_id: self.correlation_id.to_owned(),
        };
        let envelope = Envelope {
            id: sent.task_id.clone(),
            source: SOURCE.to_owned(),
            time: self.begun,
            traceparent: Some(self.trace.clone()),
            task_id: None,
        };
        message(&body, envelope)
    }
}

/// Steps of this process that wait for results, by task.
#[derive(Debug, Default)]
struct Arrivals(Mutex<HashMap<String, Arc<Notify>>>);

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(self: &Arc<Self>, task_id: &str) -> Waiting {
        let arrived = Arc::<Notify>::default();
        self.lock().insert(task_id.to_owned(), Arc::clone(&arrived));
        Waiting {
            arrivals: Arc::clone(self),
            task_id: task_id.to_owned(),
            arrived,
        }
    }

    /// Wakes the step that waits for this task.
    fn arrived(&self, task_id: &str) {
        if let Some(arrived) = self.lock().get(task_id) {
            arrived.notify_one();
        }
    }
}

/// A step that waits. Dropping it ends the waiting.
struct Waiting {
    arrivals: Arc<Arrivals>,
    task_id: String,
    arrived: Arc<Notify>,
}

impl Waiting {
    async fn result(&self, journal: &Arc<dyn Journal>, run: &RunId, task_id: &str) -> TaskResult {
        let (mut pause, longest) = LOOKS;
        loop {
            if let Some(result) = taken_in(journal, run, task_id).await {
                return result;
            }
            tokio::select! {
                () = self.arrived.notified() => {}
                () = sleep(pause) => pause = (pause * 2).min(longest),
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waiting = self.arrivals.lock();
        let is_own = |arrived: &Arc<Notify>| Arc::ptr_eq(arrived, &self.arrived);
        if waiting.get(&self.task_id).is_some_and(is_own) {
            waiting.remove(&self.task_id);
        }
    }
}

/// The result that the journal has, if it has one.
async fn taken_in(journal: &Arc<dyn Journal>, run: &RunId, task_id: &str) -> Option<TaskResult> {
    match journal.taken_in(run, task_id).await {
        Ok(Some(result)) => match serde_json::from_str(&result) {
            Ok(result) => Some(result),
            Err(error) => {
                tracing::error!(%run, task_id, %error, "a result in the journal cannot be read");
                None
            }
        },
        Ok(None) => None,
        Err(error) => {
            tracing::debug!(%run, task_id, %error, "the journal cannot be asked for a result yet");
            None
        }
    }
}

fn ended(sent: &SentHandoff, state: &str, error: &str) -> DelegationResult {
    DelegationResult {
        agent: sent.handoff.agent.clone(),
        state: state.to_owned(),
        error: error.to_owned(),
        ..DelegationResult::default()
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
