//! Runs whose steps go over a bus, here the hub's, to somebody who does the work of their agents.

mod losing;

use std::{slice, sync::Arc, time::Duration};

use agenthub_bus::{
    Bus, Group, Groups, HubBus, HubGroups,
    messages::{Envelope, Inbox, Outcome, RESULTS, TASKS, TaskRequest, TaskResult, message},
};
use agenthub_claims::ClaimStore;
use agenthub_sdk::{
    Agent, Card, Delegation, Pending, RunningAgent, Skill, TaskContext, durable::Journal,
    runs::journal::SqliteJournal, testing::TestHub,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;
use crate::{
    RUN,
    executor::{NAME, SecretSource, agent},
};

const PATIENCE: Duration = Duration::from_secs(30);

struct Stage {
    hub: TestHub,
    journal: Arc<dyn Journal>,
    route: BusRoute,
    claims: ClaimStore,
    tasks: Inbox<TaskRequest>,
    reader: ResultReader,
    _worker: RunningAgent,
    _folder: TempDir,
}

impl Stage {
    async fn new() -> Self {
        Self::with(|bus| Arc::new(bus), |journal| Arc::new(journal)).await
    }

    /// The stage with these around its bus and its journal.
    async fn with(
        bus: impl FnOnce(HubBus) -> Arc<dyn Bus>,
        journal: impl FnOnce(SqliteJournal) -> Arc<dyn Journal>,
    ) -> Self {
        let hub = TestHub::start().await;
        let folder = tempfile::tempdir().expect("a folder");
        let journal =
            journal(SqliteJournal::open(folder.path().join("runs.db")).expect("a journal"));
        let bus = bus(HubBus::new(hub.client().await));
        let claims = ClaimStore::open("memory:///").expect("a store");
        let route = BusRoute::new(Arc::clone(&bus), claims.clone());
        let groups: Arc<dyn Groups> = Arc::new(HubGroups::new(hub.url()));
        let tasks = Inbox::join(Arc::clone(&groups), Group::new("bridges", [TASKS]), bus);
        let tasks = tasks.await.expect("it joins");
        let reader = ResultReader::start(&route, groups, "results", Arc::clone(&journal));
        let skill = Skill::new("work", "Work", "Works");
        let worker = Agent::worker(Card::new("worker", "Works").skill(&skill));
        let worker = worker.on(&skill, async |_: TaskContext, _: String| -> String {
            panic!("the hub hands no step over")
        });
        Self {
            _worker: worker.start(hub.url()).await.expect("a hub"),
            hub,
            journal,
            route,
            claims,
            tasks,
            reader,
            _folder: folder,
        }
    }

    async fn executor(&self) -> RunningAgent {
        let (hub, journal) = (self.hub.url(), Arc::clone(&self.journal));
        let agent = agent(
            &hub,
            journal,
            Some(self.route.clone()),
            SecretSource::Nowhere,
        )
        .instance_id("one");
        let agent = agent.drain_timeout(Duration::ZERO);
        agent.start(hub).await.expect("a hub")
    }

    async fn run(&self, step: Value) -> Pending {
        let steps = json!({ "steps": { "a": step }, "output": "${a.output.text}" });
        let asked = Delegation::to(NAME).capability(RUN);
        let asked = asked.payload(json!({ "workflow": steps }));
        let client = self.hub.client().await;
        client.delegate(asked).await.expect("the hub takes it")
    }

    async fn task(&mut self) -> TaskRequest {
        let next = timeout(PATIENCE, self.tasks.next()).await;
        let (task, delivery) = next.expect("a task comes").expect("a member");
        assert_eq!(delivery.message.id, task.task_id);
        assert_eq!(delivery.message.key, task.run_id);
        assert!(delivery.message.headers.contains_key("traceparent"));
        delivery.acknowledge();
        task
    }

    /// True if another task comes within a moment.
    async fn another_task_comes(&mut self) -> bool {
        let moment = Duration::from_millis(500);
        timeout(moment, self.tasks.next()).await.is_ok()
    }

    async fn answers(&self, task: &TaskRequest, id: &str, answer: Result<&'static str, &str>) {
        let text = "text/plain".parse().expect("a content type");
        let output = match answer {
            Ok(said) => {
                let put = self.claims.put(said.into(), &text).await;
                Some(put.expect("it is put").to_string())
            }
            Err(_) => None,
        };
        let result = TaskResult {
            run_id: task.run_id.clone(),
            task_id: task.task_id.clone(),
            status: match answer {
                Ok(_) => Outcome::Completed,
                Err(_) => Outcome::Failed,
            },
            output_claim_check: output,
            correlation_id: task.correlation_id.clone(),
            error_message: answer.err().map(str::to_owned),
        };
        let envelope = Envelope {
            id: id.to_owned(),
            source: "/test".to_owned(),
            time: SystemTime::now(),
            traceparent: None,
            task_id: None,
        };
        let message = message(&result, envelope);
        let published = self.route.bus.publish(RESULTS, slice::from_ref(&message));
        published.await.expect("it is taken");
    }

    async fn taken_in(&self, task: &TaskRequest) {
        let run = RunId::new(&*task.run_id);
        let waiting = self.route.arrivals.waiting("nobody");
        let result = waiting.result(&self.journal, &run, &task.task_id);
        timeout(PATIENCE, result).await.expect("it is written");
    }

    async fn stop(self, executor: RunningAgent) {
        executor.stop().await;
        self.reader.stop().await;
        self.tasks.leave().await;
    }
}

async fn outcome(pending: Pending) -> agenthub_sdk::Outcome {
    let outcome = timeout(PATIENCE, pending.outcome()).await;
    outcome.expect("it ends").expect("an outcome")
}

/// spec: EXE-3.1, EXE-3.2, EXE-3.4, EXE-10.1
#[tokio::test]
async fn a_step_goes_out_as_a_task_and_its_result_comes_back() {
    let mut stage = Stage::new().await;
    let executor = stage.executor().await;
    let step = json!({ "agent": "worker", "skill": "work", "text": "write" });
    let pending = stage.run(step).await;
    let task = stage.task().await;
    assert_eq!(task.agent_name, "worker");
    let input = stage.claims.get(&task.input_claim_check, 1 << 20).await;
    let input: Value = serde_json::from_slice(&input.expect("it is there")).expect("JSON");
    assert_eq!(input["parts"], json!([{ "text": "write" }]));
    assert_eq!(input["metadata"]["task_type"], "work");
    // The first result of a task counts.
    stage.answers(&task, "r1", Ok("a poem")).await;
    stage.taken_in(&task).await;
    stage.answers(&task, "r2", Ok("another poem")).await;
    assert_eq!(outcome(pending).await.text, "a poem");
    stage.stop(executor).await;
}

/// spec: EXE-3.5
#[tokio::test]
async fn a_result_is_taken_in_while_earlier_steps_wait_for_theirs() {
    let mut stage = Stage::new().await;
    let executor = stage.executor().await;
    let step = json!({ "agent": "worker", "text": "write" });
    let earlier = stage.run(step.clone()).await;
    let earlier_task = stage.task().await;
    let later = stage.run(step).await;
    let later_task = stage.task().await;
    stage.answers(&later_task, "r1", Ok("a poem")).await;
    assert_eq!(outcome(later).await.text, "a poem");
    stage.answers(&earlier_task, "r2", Ok("a novel")).await;
    assert_eq!(outcome(earlier).await.text, "a novel");
    stage.stop(executor).await;
}

/// spec: EXE-9.5
#[tokio::test]
async fn a_failed_result_fails_the_step_with_its_message() {
    let mut stage = Stage::new().await;
    let executor = stage.executor().await;
    let pending = stage
        .run(json!({ "agent": "worker", "text": "write" }))
        .await;
    let task = stage.task().await;
    let why = "HTTP 422: no such metre";
    stage.answers(&task, "r1", Err(why)).await;
    let error = outcome(pending).await.error;
    assert!(error.contains(why), "{error}");
    stage.stop(executor).await;
}

/// spec: EXE-4.3, EXE-4.4
#[tokio::test]
async fn a_run_that_is_taken_up_publishes_the_same_task_unless_its_result_is_there() {
    for is_answered in [false, true] {
        let mut stage = Stage::new().await;
        let executor = stage.executor().await;
        let step = json!({ "agent": "worker", "text": "write" });
        let pending = stage.run(step).await;
        let task = stage.task().await;
        executor.stop().await;
        if is_answered {
            stage.answers(&task, "r1", Ok("a poem")).await;
            stage.taken_in(&task).await;
        }
        let executor = stage.executor().await;
        if !is_answered {
            // The hub leaves the repetition out, as it is the same, byte for byte; it refuses another one under the same id.
            assert!(!stage.another_task_comes().await);
            stage.answers(&task, "r1", Ok("a poem")).await;
        }
        assert_eq!(outcome(pending).await.text, "a poem");
        assert!(!stage.another_task_comes().await);
        stage.stop(executor).await;
    }
}

#[tokio::test]
async fn a_step_without_a_result_ends_with_its_time() {
    let mut stage = Stage::new().await;
    let executor = stage.executor().await;
    let step = json!({ "agent": "worker", "text": "write", "timeout": "300ms" });
    let pending = stage.run(step).await;
    stage.task().await;
    let error = outcome(pending).await.error;
    assert!(error.contains("in time"), "{error}");
    assert!(error.contains("agenthub bridge"), "{error}");
    stage.stop(executor).await;
}
