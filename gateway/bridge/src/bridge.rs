//! One task after the other: look up, ask, store, publish, acknowledge.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex as StdMutex, PoisonError, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_a2a::{
    client::{Failure, Remote},
    v1::{Message, Part, Role, SendMessageRequest},
};
use agenthub_bus::{
    Bus, BusError,
    messages::{Inbox, Outcome, TaskRequest, TaskResult},
};
use agenthub_claims::{ClaimCheck, ClaimError, ClaimStore};
use agenthub_sdk::runs::breakers::{Breaker, Breakers};
use bytes::Bytes;
use serde_json::json;
use tokio::{
    sync::Mutex,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::{Answer, Unsuccessful},
    content::{content_of, message_of as input_of},
    directory::{Directory, NotFound},
    failing::{message_of, shortened},
    publishing::{Stream, publish_result},
};

/// Time for tasks that are at work to end when a bridge is told to stop.
const DRAIN: Duration = Duration::from_secs(4);

/// Further tries of getting a card.
const CARD_TRIES: u32 = 4;

/// Pause before a store, a hub or a card is asked for again.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks a store again for as long as its failures pass: an answer of an agent is nowhere else yet. A macro, as futures of async closures cannot be
/// said to be `Send`.
macro_rules! patiently {
    ($call:expr) => {
        loop {
            match $call.await {
                Err(error) if ClaimError::is_retryable(&error) => {
                    tracing::warn!(%error, "a store of claim checks is asked again");
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
    in_hand: InHand,
}

/// Locks of tasks that are in hand, by their ids.
#[derive(Debug, Default)]
struct InHand(StdMutex<HashMap<String, Weak<Mutex<()>>>>);

impl InHand {
    fn of(&self, task_id: &str) -> Arc<Mutex<()>> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = tasks.get(task_id).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        tasks.insert(task_id.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

/// An agent that has not answered, after all tries, five times in a row is left alone for half a minute.
const BREAKER: Breaker = Breaker {
    failures: 5,
    pause_ms: 30_000,
};

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
            in_hand: InHand::default(),
        }))
    }

    /// Takes tasks until it is told to stop (EXE-5.1). At most as many run at once as the group lets this member have out. Those that are
    /// at work then have 4 s to end; what is not done after that is not acknowledged: another member takes it up, as it does if this one dies.
    ///
    /// # Errors
    ///
    /// The bus does not have this member any more.
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
                        let bridge = self.clone();
                        tasks.spawn(async move {
                            let trace = delivery.message.headers.get("traceparent").cloned();
                            bridge.handle(&task, trace).await;
                            delivery.acknowledge();
                        });
                    }
                    Err(error) => break Err(error),
                },
                Some(ended) = tasks.join_next() => if let Err(error) = ended {
                    tracing::error!(%error, "a task broke off");
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
        inbox.leave().await;
        ended
    }

    /// Carries a task out and publishes its result. May be cancelled and repeated: a task that has a result is not carried out again, and an agent
    /// that is asked again is asked with the same message id.
    pub(crate) async fn handle(&self, task: &TaskRequest, trace: Option<String>) {
        // What a task comes to twice at the same time, it comes to once.
        let alone = self.0.in_hand.of(&task.task_id);
        let _alone = alone.lock().await;
        let result = match self.earlier_result(task).await {
            Some(result) => result,
            None => {
                let ended = self.carry_out(task, trace.clone()).await;
                let result = result_of(task, ended);
                self.record(&result).await;
                result
            }
        };
        publish_result(&self.0.settings.bus, result, trace).await;
    }

    /// The result that a bridge had for this task before it died, or before it could say so to the bus.
    async fn earlier_result(&self, task: &TaskRequest) -> Option<TaskResult> {
        let found = patiently!(self.0.settings.claims.recorded(&record_of(&task.task_id)));
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
        let kept = patiently!(self.0.settings.claims.record(&key, value.clone()));
        if let Err(error) = kept {
            tracing::warn!(task_id = result.task_id, %error, "a task may be carried out again after a crash");
        }
    }

    async fn carry_out(&self, task: &TaskRequest, trace: Option<String>) -> Ended {
        let (remote, message) = match self.prepare(task).await {
            Ok(prepared) => prepared,
            Err(error) => {
                return Ended {
                    output: None,
                    error: Some(error),
                };
            }
        };
        let mut answer = Answer::default();
        let called = self
            .admitted(&remote, message, task, trace, &mut answer)
            .await;
        match (called, answer.end()) {
            (Ok(()), Ok(parts)) => self.store(&parts, None).await,
            (Ok(()), Err(Unsuccessful(why))) => self.store_rest(&answer, why).await,
            (Err(why), _) => self.store_rest(&answer, why).await,
        }
    }

    /// The agent, and what it is to get.
    async fn prepare(&self, task: &TaskRequest) -> Result<(Remote, Message), String> {
        let input = &task.input_claim_check;
        let claim: ClaimCheck = input
            .parse()
            .map_err(|error| format!("cannot read the input: {error}"))?;
        let content = patiently!(
            self.0
                .settings
                .claims
                .get(input, self.0.settings.largest_input)
        )
        .map_err(|error| format!("cannot read the input: {error}"))?;
        let message = input_of(content, claim.content_type())?;
        Ok((self.find(&task.agent_name).await?, message))
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
            tracing::warn!(agent = name, %error, "a task waits for its agent");
            sleep(PAUSE).await;
        }
    }

    /// Asks the agent, if its breaker lets the task through.
    async fn admitted(
        &self,
        remote: &Remote,
        message: Message,
        task: &TaskRequest,
        trace: Option<String>,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let (agent, breakers) = (&task.agent_name, &self.0.breakers);
        if let Some(until_ms) = breakers.admit(agent, BREAKER, now_ms()) {
            let seconds = until_ms.saturating_sub(now_ms()).div_ceil(1_000);
            return Err(format!(
                "the agent has not answered too often, and is not asked for {seconds} s"
            ));
        }
        let mut returned = Returned {
            breakers,
            agent,
            is_well: None,
        };
        let called = self.call(remote, message, task, trace, answer).await;
        returned.is_well = Some(!called.as_ref().is_err_and(Failure::is_of_health));
        drop(returned);
        called.map_err(|failure| message_of(&failure))
    }

    /// Asks the agent, and takes in all that it says.
    async fn call(
        &self,
        remote: &Remote,
        message: Message,
        task: &TaskRequest,
        trace: Option<String>,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        let request = request(task, message);
        let capabilities = remote.card().capabilities.as_ref();
        if capabilities.is_some_and(|c| c.streaming()) {
            let mut following = remote.send_streaming_message(request);
            let mut stream = Stream::new(&self.0.settings.bus, task, trace);
            let mut failure = None;
            while let Some(event) = following.next().await {
                match event {
                    Ok(event) => {
                        for text in answer.take(event) {
                            stream.publish(text).await;
                        }
                    }
                    Err(error) => failure = Some(error),
                }
            }
            stream.end().await;
            return failure.map_or(Ok(()), Err);
        }
        let response = remote.send_message(request).await;
        answer.take_response(response?);
        if let Some(id) = answer.working_task() {
            let mut following = remote.subscribe_to_task(id);
            while let Some(event) = following.next().await {
                answer.take(event?);
            }
        }
        Ok(())
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
        let stored = patiently!(self.0.settings.claims.put(content.clone(), &content_type));
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

/// Tells a breaker how a call came back when it is dropped; one that broke off says nothing of the agent.
struct Returned<'a> {
    breakers: &'a Breakers,
    agent: &'a str,
    is_well: Option<bool>,
}

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        self.breakers
            .returned(self.agent, BREAKER, self.is_well, now_ms());
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The message of a task. Its id is the task's, so that an agent that gets it again knows it (EXE-4, EXE-5.3).
fn request(task: &TaskRequest, message: Message) -> SendMessageRequest {
    SendMessageRequest {
        message: Some(Message {
            message_id: task.task_id.clone(),
            context_id: task.run_id.clone(),
            role: Role::User.into(),
            ..message
        }),
        ..SendMessageRequest::default()
    }
}
