//! Runs that cannot go on.

use std::sync::{Arc, atomic::Ordering};

use agenthub_sdk::{
    Agent, Client, Delegation, Failure, Pending, TaskContext,
    proto::a2a::TaskState,
    runs::{Budget, Driver, RunId, Started, journal::MemoryJournal},
};
use serde_json::{Value, json};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
    journals::Kept,
    recovery::{ask, how_it_ended, run_of, start},
};

/// A run that is left behind in its journal, for a task that waits for it.
async fn left_behind(hub: &Hub, journal: &Arc<MemoryJournal>, client: &Client) -> (Pending, RunId) {
    let stand_ins = StandIns::new();
    let a = start(hub, &stand_ins, journal, json!([{"call": "slow"}])).await;
    let pending = ask(client).await;
    stand_ins.wait_at_work(1).await;
    a.stop().await;
    let run = run_of(client, pending.task_id()).await;
    (pending, run)
}

#[tokio::test]
async fn a_damaged_run_fails_its_task_once_and_is_left_alone() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let client = hub.client().await;
    let (pending, run) = left_behind(&hub, &journal, &client).await;
    let damaged = Arc::new(Kept {
        unreadable: 2,
        ..Kept::keeping(&journal)
    });
    let stand_ins = StandIns::new();
    let _a = Agent::worker(card("a"))
        .instance_id("a-1")
        .concurrency(1)
        .conduct("work", Scripted::new(&stand_ins, json!([{"ask": "hi"}])))
        .journal(damaged.clone())
        .start(hub.url())
        .await
        .expect("it starts");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    let why = "the run of this task cannot go on: event 2";
    assert!(outcome.error.starts_with(why), "{}", outcome.error);
    let before = damaged.looks.load(Ordering::SeqCst);
    eventually("it is looked for again", || async {
        damaged.looks.load(Ordering::SeqCst) >= before + 2
    })
    .await;
    assert_eq!(damaged.stumbled.load(Ordering::SeqCst), 1);
    assert_eq!(how_it_ended(&journal, &run).await, None);
}

#[tokio::test]
async fn a_run_that_nothing_here_can_decide_fails_its_task() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let client = hub.client().await;
    let (pending, _run) = left_behind(&hub, &journal, &client).await;
    let _a = Agent::worker(card("a"))
        .instance_id("a-1")
        .on("work", |_: TaskContext| async { Ok::<_, Failure>("hi") })
        .journal(Kept::new(&journal))
        .start(hub.url())
        .await
        .expect("it starts");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    let why = "the run of this task cannot go on: nothing here knows the strategy \"script\"";
    assert_eq!(outcome.error, why);
}

#[tokio::test]
async fn a_message_whose_run_does_not_say_how_it_began_fails_its_task() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let other = Driver::new(journal.clone(), "another");
    let first = Started {
        strategy: "script".into(),
        input: json!([]),
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 0,
    };
    let run = RunId::of(&["a", "t", "m"]);
    let _in_hand = other.open(run, "a", Some(first)).await;
    let damaged = Kept {
        unreadable: 1,
        ..Kept::keeping(&journal)
    };
    let stand_ins = StandIns::new();
    let _a = Agent::worker(card("a"))
        .conduct("work", Scripted::new(&stand_ins, json!([{"ask": "hi"}])))
        .journal(Arc::new(damaged))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let delegation = Delegation::to("a").text("go").task_id("t");
    let pending = client.delegate(delegation.message_id("m")).await;
    let outcome = soon(pending.expect("it is taken").outcome()).await;
    let outcome = outcome.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(outcome.error.contains("event 1"), "{}", outcome.error);
}
