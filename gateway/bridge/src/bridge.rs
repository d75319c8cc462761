//! One task after the other: look up, ask, store, publish, acknowledge.

mod calling;
mod in_hand;

use std::{
    error::Error,
    fmt,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use agenthub_a2a::{client::Remote, v1::Part};
use agenthub_bus::{
    Bus, BusError,
    messages::{Inbox, Outcome, TaskRequest, TaskResult},
};
use agenthub_claims::{ClaimCheck, ClaimError, ClaimStore};
use agenthub_metrics::Snapshot;
use agenthub_sdk::runs::{
    boundaries::{Boundary, reached},
    breakers::Breakers,
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::{Answer, Unsuccessful},
    content::{content_of, message_of as input_of},
    directory::{Directory, NotFound},
    failing::shortened,
    metrics::{Asked, Metrics},
    publishing::{Outbox, publish_result},
};
use calling::{BREAKER, Call, now_ms};
use in_hand::InHand;

/// Time for tasks that are at work to end when a bridge is told to stop.
const DRAIN: Duration = Duration::from_secs(4);

/// Time to leave the group after that.
const LEAVE: Duration = Duration::from_secs(3);

/// Further tries of getting a card.
const CARD_TRIES: u32 = 4;

/// Pause before a store, a hub or a card is asked for again, and first one before a task that broke off is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Tries of a task that breaks off.
const TRIES: u32 = 5;

/// Asks a store again for as long as its failures pass: an answer of an agent is nowhere else yet. A macro, as futures of async closures cannot be
/// said to be `Send`.
macro_rules! patiently {
    ($metrics:expr, $call:expr) => {
        loop {
            match $call.await {
                Err(error) if ClaimError::is_retryable(&error) => {
                    $metrics.again(Asked::Store);
                    tracing::warn!(
                        error = &error as &dyn Error,
                        "a store of claim checks is asked again"
                    );
                    sleep(PAUSE).await;
                }
                result => break result,
            }
        }
    };
}

/// Parts of a bridge.
#[derive(Clone)]
pub struct Settings {
    /// Takes results and streams.
    pub bus: Arc<dyn Bus>,
    /// Has inputs, and takes outputs.
    pub claims: ClaimStore,
    /// Knows agents.
    pub directory: Arc<dyn Directory>,
    /// Longest input, in bytes.
    pub largest_input: u64,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").finish_non_exhaustive()
    }
}

/// Calls agents for tasks, and publishes what they answer. Clones are the same bridge.
#[derive(Clone, Debug)]
pub struct Bridge(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    settings: Settings,
    breakers: Breakers,
    metrics: Arc<Metrics>,
    in_hand: InHand,
}

/// The end of a task: an output, an error, or both where an answer broke off.
struct Ended {
    output: Option<ClaimCheck>,
    error: Option<String>,
}

impl Bridge {
    /// A bridge of these parts.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Parts {
            settings,
            breakers: Breakers::default(),
            metrics: Arc::default(),
            in_hand: InHand::default(),
        }))
    }

    /// Adds the bridge's metrics.
    pub fn collect(&self, into: &mut Snapshot) {
        let open = self.0.breakers.open(BREAKER, now_ms());
        self.0.metrics.collect(open, into);
    }

    /// Takes tasks until it is told to stop (EXE-5.1). At most as many run at once as the group lets this member have out; one that comes again while it
    /// is at work is the same. Those that are at work then have 4 s to end; what is not done after that is not acknowledged: another member takes it up,
    /// as it does if this one dies.
    ///
    /// # Errors
    ///
    /// The bus does not let this member in any more.
    pub async fn run(
        &self,
        mut inbox: Inbox<TaskRequest>,
        stop: CancellationToken,
    ) -> Result<(), BusError> {
        let mut tasks = JoinSet::new();
        let ended = loop {
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                next = inbox.next() => match next {
                    Ok((task, delivery)) => {
                        let trace = delivery.message.headers.get("traceparent").cloned();
                        if let Some(taken) = self.0.in_hand.take(&task.task_id, delivery) {
                            let bridge = self.clone();
                            tasks.spawn(async move {
                                bridge.handle(&task, trace).await;
                                taken.done();
                            });
                        }
                    }
                    Err(error) => break Err(error),
                },
                Some(ended) = tasks.join_next() => if let Err(error) = ended {
                    tracing::error!(%error, "a task broke off without a result, and stays out");
                },
            }
        };
        if ended.is_ok() {
            let drain = async { while tasks.join_next().await.is_some() {} };
            // What is left is for other bridges.
            let _ = timeout(DRAIN, drain).await;
        }
        if !tasks.is_empty() {
            tracing::info!(left = tasks.len(), "tasks are left to other bridges");
        }
        tasks.shutdown().await;
        // If Kafka does not answer, leaving goes on in the background.
        let _ = timeout(LEAVE, inbox.leave()).await;
        ended
    }

    /// Carries a task out and publishes its result. What panics is tried again, after pauses that double: the task stays out, and others at work are
    /// not disturbed. After the last try the task has failed.
    pub(crate) async fn handle(&self, task: &TaskRequest, trace: Option<String>) {
        let (since, mut pause) = (Instant::now(), PAUSE);
        for attempt in 1..=TRIES {
            let handling = AssertUnwindSafe(self.attempt(task, trace.clone()));
            if handling.catch_unwind().await.is_ok() {
                return;
            }
            tracing::error!(task_id = task.task_id, attempt, "a task broke off");
            if attempt < TRIES {
                sleep(pause).await;
                pause *= 2;
            }
        }
        let ended = Ended {
            output: None,
            error: Some(format!("the bridge broke off {TRIES} times: see its log")),
        };
        let outbox = Outbox::new(&self.0.settings.bus, &self.0.metrics);
        publish_result(outbox, result_of(task, ended), trace.clone()).await;
        let metrics = &self.0.metrics;
        metrics.task_ended(&task.agent_name, "failed", since, trace.as_deref());
    }

    /// Carries a task out and publishes its result. May be cancelled and repeated: a task that has a result is not carried out again, and an agent
    /// that is asked again is asked with the same message id.
    async fn attempt(&self, task: &TaskRequest, trace: Option<String>) {
        let metrics = &self.0.metrics;
        let (_in_hand, since) = (metrics.in_hand(), Instant::now());
        let earlier = self.earlier_result(task).await;
        let is_repeated = earlier.is_some();
        let result = match earlier {
            Some(result) => result,
            None => {
                let ended = self.carry_out(task, trace.clone()).await;
                let result = result_of(task, ended);
                self.record(&result).await;
                reached(Boundary::ResultRecorded, &task.task_id).await;
                result
            }
        };
        let outcome = match (is_repeated, result.status) {
            (true, _) => "repeated",
            (false, Outcome::Completed) => "completed",
            (false, Outcome::Failed) => "failed",
        };
        let outbox = Outbox::new(&self.0.settings.bus, metrics);
        publish_result(outbox, result, trace.clone()).await;
        metrics.task_ended(&task.agent_name, outcome, since, trace.as_deref());
        reached(Boundary::ResultPublished, &task.task_id).await;
    }

    /// The result that a bridge had for this task before it died, or before it could say so to the bus.
    async fn earlier_result(&self, task: &TaskRequest) -> Option<TaskResult> {
        let found = patiently!(
            self.0.metrics,
            self.0.settings.claims.recorded(&record_of(&task.task_id))
        );
        match found {
            Ok(found) => serde_json::from_slice(&found?).ok(),
            Err(error) => {
                tracing::warn!(task_id = task.task_id, %error, "it is not known whether a task has a result");
                None
            }
        }
    }

    async fn record(&self, result: &TaskResult) {
        let value = Bytes::from(json!(result).to_string());
        let key = record_of(&result.task_id);
        let kept = patiently!(
            self.0.metrics,
            self.0.settings.claims.record(&key, value.clone())
        );
        if let Err(error) = kept {
            tracing::warn!(task_id = result.task_id, %error, "a task may be carried out again after a crash");
        }
    }

    async fn carry_out(&self, task: &TaskRequest, trace: Option<String>) -> Ended {
        let call = match self.prepare(task, trace).await {
            Ok(call) => call,
            Err(error) => {
                return Ended {
                    output: None,
                    error: Some(error),
                };
            }
        };
        let mut answer = Answer::default();
        let called = self.admitted(call, &mut answer).await;
        reached(Boundary::ResponseReceived, &task.task_id).await;
        let ended = match (called, answer.end()) {
            (Ok(()), Ok(parts)) => self.store(&parts, None).await,
            (Ok(()), Err(Unsuccessful(why))) => self.store_rest(&answer, why).await,
            (Err(why), _) => self.store_rest(&answer, why).await,
        };
        reached(Boundary::ObjectStored, &task.task_id).await;
        ended
    }

    /// The call of a task's agent with the task's input.
    async fn prepare<'a>(
        &self,
        task: &'a TaskRequest,
        trace: Option<String>,
    ) -> Result<Call<'a>, String> {
        let input = &task.input_claim_check;
        let claim: ClaimCheck = input
            .parse()
            .map_err(|error| format!("cannot read the input: {error}"))?;
        let content = patiently!(
            self.0.metrics,
            self.0
                .settings
                .claims
                .get(input, self.0.settings.largest_input)
        )
        .map_err(|error| format!("cannot read the input: {error}"))?;
        let message = input_of(content, claim.content_type())?;
        Ok(Call {
            task,
            trace,
            remote: self.find(&task.agent_name).await?,
            message,
        })
    }

    /// The agent, once the hub can be asked for it, and the agent for its card.
    async fn find(&self, name: &str) -> Result<Remote, String> {
        let mut tries = 0;
        loop {
            let error = match self.0.settings.directory.find(name).await {
                Ok(remote) => return Ok(remote),
                Err(error) => error,
            };
            match &error {
                NotFound::Hub(_) => {}
                NotFound::Card { failure, .. } if failure.is_of_health() && tries < CARD_TRIES => {
                    tries += 1;
                }
                _ => return Err(error.to_string()),
            }
            self.0.metrics.again(Asked::Directory);
            tracing::warn!(agent = name, %error, "a task waits for its agent");
            sleep(PAUSE).await;
        }
    }

    /// Keeps what there is of an answer that is none.
    async fn store_rest(&self, answer: &Answer, why: String) -> Ended {
        let parts = answer.parts();
        if parts.is_empty() {
            return Ended {
                output: None,
                error: Some(why),
            };
        }
        self.store(&parts, Some(why)).await
    }

    async fn store(&self, parts: &[Part], error: Option<String>) -> Ended {
        let (content, content_type) = content_of(parts);
        let stored = patiently!(
            self.0.metrics,
            self.0.settings.claims.put(content.clone(), &content_type)
        );
        match stored {
            Ok(claim) => Ended {
                output: Some(claim),
                error,
            },
            Err(unstored) => {
                let unstored = format!("cannot store the answer: {unstored}");
                Ended {
                    output: None,
                    error: Some(error.map_or(unstored.clone(), |why| format!("{why}; {unstored}"))),
                }
            }
        }
    }
}

fn result_of(task: &TaskRequest, Ended { output, error }: Ended) -> TaskResult {
    TaskResult {
        run_id: task.run_id.clone(),
        task_id: task.task_id.clone(),
        status: match error {
            None => Outcome::Completed,
            Some(_) => Outcome::Failed,
        },
        output_claim_check: output.map(|claim| claim.to_string()),
        correlation_id: task.correlation_id.clone(),
        error_message: error.map(shortened),
    }
}

/// Key of the record of a task's result.
fn record_of(task_id: &str) -> String {
    format!("result of {task_id}")
}
