//! Workflows in a journal in PostgreSQL, which one executor hands to another. They run if `AGENTHUB_TEST_POSTGRES` names a server (`.ci/run`
//! starts one).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_runs::{
    Journal,
    journal::{Filter, PostgresJournal, State},
};
use agenthub_sdk::{Agent, Card, Delegation, RunningAgent, Skill, TaskContext, testing::TestHub};
use agenthub_workflow::{RUN, SecretSource};
use serde_json::json;
use tokio::{sync::watch, time::timeout};
use uuid::Uuid;

const PATIENCE: Duration = Duration::from_secs(60);

/// The tasks that the worker had, by step.
type Calls = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// An agent that counts its calls, and does not answer before it may.
async fn worker(
    hub: &str,
    calls: &Calls,
    called: watch::Sender<String>,
    may: watch::Receiver<bool>,
) -> RunningAgent {
    let skill = Skill::new("work", "Work", "Works");
    let calls = Arc::clone(calls);
    let agent = Agent::worker(Card::new("worker", "Works").skill(&skill)).on(
        &skill,
        move |task: TaskContext, step: String| {
            let mut counted = calls.lock().expect("no panic");
            counted
                .entry(step.clone())
                .or_default()
                .push(task.task_id().to_owned());
            called.send_replace(step.clone());
            let mut may = may.clone();
            async move {
                if step == "two" {
                    may.wait_for(|may| *may).await.expect("the test is there");
                }
                format!("{step} is done")
            }
        },
    );
    agent.start(hub).await.expect("a hub")
}

/// A process that carries workflows out, with connections of its own.
async fn executor(server: &str, hub: &str, name: &str) -> (RunningAgent, Arc<dyn Journal>) {
    let journal = PostgresJournal::open(server).await.expect("it opens");
    let journal: Arc<dyn Journal> = Arc::new(journal);
    let agent =
        agenthub_workflow::agent(hub, Arc::clone(&journal), None, SecretSource::Nowhere).name(name);
    (agent.start(hub).await.expect("a hub"), journal)
}

/// spec: EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_executor_goes_on_with_a_workflow_and_repeats_no_completed_step() {
    let Ok(server) = std::env::var("AGENTHUB_TEST_POSTGRES") else {
        eprintln!("skipped: AGENTHUB_TEST_POSTGRES names no server");
        return;
    };
    let hub = TestHub::start().await;
    let calls = Calls::default();
    let (called, calling) = (watch::Sender::new(String::new()), watch::Sender::new(false));
    let mut seen = called.subscribe();
    let _worker = worker(&hub.url(), &calls, called, calling.subscribe()).await;
    let name = format!("workflows-{}", Uuid::new_v4());
    let (first, _) = executor(&server, &hub.url(), &name).await;

    let request = json!({
        "workflow": {
            "steps": {
                "one": { "agent": "worker", "skill": "work", "text": "one" },
                "two": { "agent": "worker", "skill": "work", "text": "two", "depends_on": ["one"] },
                "three": { "agent": "worker", "skill": "work", "text": "three", "depends_on": ["two"] },
            },
            "output": "${three.output.text}",
        },
        "input": {},
    });
    let client = hub.client().await;
    let asked = Delegation::to(&*name).capability(RUN).payload(request);
    let pending = client.delegate(asked).await.expect("the hub takes it");
    let at_two = seen.wait_for(|step| step == "two");
    timeout(PATIENCE, at_two)
        .await
        .expect("two begins")
        .expect("the worker is there");

    first.stop().await;
    let (second, journal) = executor(&server, &hub.url(), &name).await;
    calling.send_replace(true);
    let outcome = timeout(PATIENCE, pending.outcome()).await.expect("it ends");
    assert_eq!(outcome.expect("an outcome").text, "three is done");

    let calls = calls.lock().expect("no panic").clone();
    assert_eq!(
        (calls["one"].len(), calls["three"].len()),
        (1, 1),
        "{calls:?}"
    );
    assert!(
        calls["two"].iter().all(|task| *task == calls["two"][0]),
        "{calls:?}"
    );
    second.stop().await;
    let filter = Filter {
        owner: Some(name),
        ..Filter::default()
    };
    let runs = journal.list(&filter).await.expect("the server is there");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state, State::Completed);
}
