//! Tasks on the topic, and their results.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use agenthub_bus::{
    Bus, Consumer, Group, Groups, KafkaBus, Message,
    kafka::Settings,
    messages::{Envelope, Outcome, RESULTS, TASKS, TaskRequest, TaskResult, message},
};
use agenthub_claims::ClaimStore;
use anyhow::{Context as _, bail};
use tokio::{sync::oneshot, task::JoinSet, time::timeout};

use super::{
    agent::{AT_ONCE_TEXT, Answers, TOGETHER},
    place::{AGENT, Place},
};
use crate::compare::{
    tally::Tally,
    tasks::{ClosedLoop, request},
};

/// Runs that tasks are of, which spreads them over all partitions.
const RUNS: u64 = 64;

/// Time for a result to come.
const LONGEST: Duration = Duration::from_secs(60);

/// Results that are taken before they are acknowledged.
const RESULTS_OUT: usize = 10_000;

/// Publishes tasks and waits for their results. Ends on drop.
#[derive(Debug)]
pub(super) struct Calls {
    bus: KafkaBus,
    /// Beginning of all ids.
    name: String,
    next: AtomicU64,
    waiting: Arc<Waiting>,
    answers: Answers,
    at_once: String,
    together: String,
    _reading: JoinSet<()>,
}

/// Results and their moments, by task.
type Waiting = Mutex<HashMap<String, oneshot::Sender<(Instant, TaskResult)>>>;

impl Calls {
    /// # Errors
    ///
    /// Kafka or the store of claim checks cannot be used.
    pub(super) async fn start(kafka: &str, place: &Place) -> anyhow::Result<Self> {
        let bus = KafkaBus::connect(Settings::new(kafka)).await?;
        let name = format!("bench-{:016x}", fastrand::u64(..));
        let group = Group {
            in_flight: RESULTS_OUT,
            ..Group::new(&*name, [RESULTS])
        };
        let results = bus.join(group).await?;
        let waiting = Arc::<Waiting>::default();
        let mut reading = JoinSet::new();
        reading.spawn(read(results, Arc::clone(&waiting)));
        let claims = ClaimStore::open(place.claims())?;
        let text = "text/plain".parse().context("a content type")?;
        let put = async |said: &str| claims.put(said.to_owned().into(), &text).await;
        Ok(Self {
            bus,
            next: AtomicU64::new(0),
            waiting,
            answers: place.agent.answers.clone(),
            at_once: put(AT_ONCE_TEXT).await?.to_string(),
            together: put(TOGETHER).await?.to_string(),
            name,
            _reading: reading,
        })
    }

    /// Times from answers to results, each task published after the result of the one before.
    ///
    /// # Errors
    ///
    /// A task fails, or has no result in time.
    pub(super) async fn one_at_a_time(&self, count: u64) -> anyhow::Result<Vec<Duration>> {
        let mut took = Vec::new();
        for _ in 0..count {
            took.extend(self.call(1, &self.at_once).await?);
        }
        Ok(took)
    }

    /// The same of so many tasks that the agent answers in the same moment, over and over.
    ///
    /// # Errors
    ///
    /// A task fails, or has no result in time.
    pub(super) async fn together(
        &self,
        at_once: usize,
        times: u64,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut took = Vec::new();
        for _ in 0..times {
            took.extend(self.call(at_once, &self.together).await?);
        }
        Ok(took)
    }

    /// Results per second of so many tasks, `in_flight` of them at a time.
    ///
    /// # Errors
    ///
    /// A task fails, or has no result in time.
    pub(super) async fn per_second(
        self: &Arc<Self>,
        in_flight: usize,
        count: u64,
    ) -> anyhow::Result<f64> {
        let calls = Arc::clone(self);
        let ask = request(move || {
            let calls = Arc::clone(&calls);
            async move { calls.call(1, &calls.at_once).await.map(drop) }
        });
        let tally = Arc::new(Tally::new(false));
        let began = Instant::now();
        let lanes = ClosedLoop::start(in_flight, count, &tally, &ask);
        lanes.all().await?;
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    /// Publishes tasks, and waits for their results. Gives the time between the agent's answer and the result, of each.
    async fn call(&self, count: usize, input: &str) -> anyhow::Result<Vec<Duration>> {
        let mut tasks = Vec::new();
        let mut results = Vec::new();
        for _ in 0..count {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let task_id = format!("{}.{number}", self.name);
            let run = format!("{}.run-{}", self.name, number % RUNS);
            tasks.push(task(run, &task_id, input));
            let (result, coming) = oneshot::channel();
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.insert(task_id.clone(), result);
            results.push((task_id, coming));
        }
        self.bus.publish(TASKS, &tasks).await?;
        let mut took = Vec::new();
        for (task_id, coming) in results {
            let coming = timeout(LONGEST, coming).await;
            let (at, result) = coming.context("no result comes in time")??;
            if result.status != Outcome::Completed {
                let why = result.error_message.unwrap_or_default();
                bail!("a task has failed: {why}");
            }
            let answered = self.answers.take(&task_id);
            let answered = answered.context("a result without an answer")?;
            took.push(at.saturating_duration_since(answered));
        }
        Ok(took)
    }
}

fn task(run_id: String, task_id: &str, input: &str) -> Message {
    let body = TaskRequest {
        run_id,
        task_id: task_id.to_owned(),
        agent_name: AGENT.to_owned(),
        input_claim_check: input.to_owned(),
        correlation_id: task_id.to_owned(),
    };
    let envelope = Envelope {
        id: task_id.to_owned(),
        source: "/agenthub/bench".to_owned(),
        time: SystemTime::now(),
        traceparent: None,
        task_id: None,
    };
    message(&body, envelope)
}

/// Hands results to those who wait for them; those of other programs are left out.
async fn read(mut results: Consumer, waiting: Arc<Waiting>) {
    while let Ok(delivery) = results.next().await {
        let at = Instant::now();
        if let Ok(result) = serde_json::from_slice::<TaskResult>(&delivery.message.body) {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(waiting) = waiting.remove(&result.task_id) {
                // Nobody may wait any more.
                let _ = waiting.send((at, result));
            }
        }
        delivery.acknowledge();
    }
}
