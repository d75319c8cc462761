//! Agents that are processes of their own, with runs: killed, and many at once.

use std::{
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use agenthub_sdk::{
    Agent, Delegation, RunningAgent, TaskContext,
    proto::json,
    runs::{Budget, journal::SqliteJournal},
};
use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    sync::Semaphore,
};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
};

const HUB: &str = "SDK_TEST_HUB";
const NAME: &str = "SDK_TEST_NAME";
const JOURNAL: &str = "SDK_TEST_JOURNAL";

/// The agent of the tests below, which runs in processes of its own.
#[tokio::test]
#[ignore = "it is a part of other tests"]
async fn the_agent_in_a_process() {
    let hub = std::env::var(HUB).expect("the test says where its hub is");
    let name = std::env::var(NAME).expect("the test says what it is called");
    let stand_ins = Arc::new(StandIns {
        tokens: 90,
        ..StandIns::counting()
    });
    let steps = json!([
        {"ask": "begun"},
        {"to": "h0", "steps": []},
        {"to": "h1", "steps": []},
        {"to": "h2", "steps": []},
        {"ask": "done"}
    ]);
    let mut agent = Agent::worker(card(&name))
        .instance_id(format!("{name}-1"))
        .conduct("work", Scripted::new(&stand_ins, steps));
    if let Ok(path) = std::env::var(JOURNAL) {
        let journal = SqliteJournal::open(path).expect("the folder is there");
        agent = agent.journal(Arc::new(journal));
    }
    agent.run(hub).await.expect("it ends well");
}

fn process(hub: &Hub, name: &str, journal: Option<&Path>) -> Child {
    let this_program = std::env::current_exe().expect("it has a path");
    let mut command = Command::new(this_program);
    command
        .args(["--exact", "processes::the_agent_in_a_process", "--ignored"])
        .env(HUB, hub.url())
        .env(NAME, name)
        .stdout(Stdio::null())
        .kill_on_drop(true);
    if let Some(journal) = journal {
        command.env(JOURNAL, journal);
    }
    command.spawn().expect("it starts")
}

/// An agent that counts how often it was asked, and answers when it may.
struct Helper {
    asked: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
    _agent: RunningAgent,
}

impl Helper {
    async fn start(hub: &Hub, name: &str) -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Semaphore::new(0));
        let (count, hold) = (asked.clone(), gate.clone());
        let says = name.to_owned();
        let agent = Agent::worker(card(name)).on_task_type("work", move |_: TaskContext| {
            let (count, hold, says) = (count.clone(), hold.clone(), says.clone());
            async move {
                count.fetch_add(1, Ordering::SeqCst);
                hold.acquire().await?.forget();
                Ok(says)
            }
        });
        Self {
            asked,
            gate,
            _agent: agent.start(hub.url()).await.expect("it starts"),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// In the middle of each of its steps the agent is killed, with what it has in hand, and another process goes on.
#[tokio::test]
async fn an_agent_that_is_killed_in_a_run_finishes_it_and_nobody_works_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("runs.db");
    let hub = Hub::start().await;
    let mut helpers = Vec::new();
    for name in ["h0", "h1", "h2"] {
        helpers.push(Helper::start(&hub, name).await);
    }
    let client = hub.client().await;
    let mut agent = process(&hub, "a", Some(&journal));
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("the mail waits for the agent");
    for helper in &helpers {
        eventually("the helper is asked", || async { helper.asked() == 1 }).await;
        soon(agent.kill()).await.expect("it runs");
        agent = process(&hub, "a", Some(&journal));
        helper.gate.add_permits(1);
    }
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "begun h0 h1 h2 done");
    assert!(helpers.iter().all(|helper| helper.asked() == 1));
    let spent = outcome.spent.expect("it tells");
    assert_eq!(spent.tokens, 180, "two answers were paid for");
}

/// Twenty children in four processes.
#[tokio::test]
async fn children_in_several_processes_never_pass_the_cap() {
    const CAP: u64 = 4_000;
    let hub = Hub::start().await;
    let names = ["p0", "p1", "p2", "p3"];
    let _processes: Vec<Child> = names.map(|name| process(&hub, name, None)).into();
    let asks: Vec<Value> = (0..30).map(|n| json!({"ask": n.to_string()})).collect();
    let children: Vec<Value> = (0..20)
        .map(|n| json!({"to": names[n % names.len()], "steps": asks}))
        .collect();
    let _a = Agent::worker(card("a"))
        .conduct("work", Scripted::new(&StandIns::new(), json!([children])))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let budget = Budget {
        tokens: Some(CAP),
        ..Budget::default()
    };
    let delegation = Delegation::to("a").text("go").budget(budget);
    let pending = client.delegate(delegation).await.expect("it is taken");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    let spent = outcome.spent.expect("it tells").tokens;
    assert!(spent <= CAP, "{spent}");

    let tasks = client.all_tasks(Default::default()).await.expect("tasks");
    let used = tasks.iter().filter(|t| t.requester() == "a").map(|task| {
        let metadata = task.metadata.as_ref().map(json::from_struct);
        let usage = metadata.map(|m| m["usage"]["tokens"].clone());
        usage.and_then(|u| u.as_u64()).unwrap_or_default()
    });
    let used: u64 = used.sum();
    assert!((1..=CAP).contains(&used), "{used}");
}
