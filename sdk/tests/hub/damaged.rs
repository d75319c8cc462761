//! Runs that cannot go on.

use std::sync::{Arc, atomic::Ordering};

use agenthub_sdk::{
    Agent, Client, Delegation, Pending, TaskContext,
    proto::a2a::TaskState,
    runs::{Budget, Driver, Journal, RunId, RunOutcome, RunStarted, journal::MemoryJournal},
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

/// How a run of nobody in particular begins.
fn begun() -> RunStarted {
    RunStarted {
        strategy: "script".into(),
        input: json!([]),
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 0,
    }
}

/// Nobody takes up again what is over, and nobody waits for it.
async fn ends_in_its_journal(journal: &MemoryJournal, run: &RunId, why: &str) {
    eventually("the run is over", || async {
        how_it_ended(journal, run).await.is_some()
    })
    .await;
    let ended = how_it_ended(journal, run).await;
    assert_eq!(ended, Some(RunOutcome::failed(why)));
    let open = journal.adoptable("a", "a-1", 10).await.expect("it works");
    assert_eq!(open, []);
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
    assert_eq!(
        how_it_ended(&journal, &run).await,
        Some(RunOutcome::failed(outcome.error))
    );
}

#[tokio::test]
async fn a_run_that_nothing_here_can_decide_fails_its_task() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let client = hub.client().await;
    let (pending, run) = left_behind(&hub, &journal, &client).await;
    let _a = Agent::worker(card("a"))
        .instance_id("a-1")
        .on_task_type("work", |_: TaskContext| async { Ok("hi") })
        .journal(Kept::new(&journal))
        .start(hub.url())
        .await
        .expect("it starts");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    let why = "the run of this task cannot go on: nothing here knows the strategy \"script\"";
    assert_eq!(outcome.error, why);
    ends_in_its_journal(&journal, &run, why).await;
}

/// The agents that it has at work are not left at it.
#[tokio::test]
async fn a_run_that_nothing_here_can_decide_calls_back_what_it_handed_over() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let client = hub.client().await;
    let helped = StandIns::new();
    let _b = Agent::worker(card("b"))
        .conduct("work", Scripted::new(&helped, json!([{"call": "slow"}])))
        .start(hub.url())
        .await
        .expect("it starts");
    let steps = json!([{"to": "b", "steps": [{"call": "slow"}]}]);
    let a = start(&hub, &StandIns::new(), &journal, steps).await;
    let pending = ask(&client).await;
    helped.wait_at_work(1).await;
    let run = run_of(&client, pending.task_id()).await;
    drop(a);
    let _a = Agent::worker(card("a"))
        .instance_id("a-1")
        .journal(Kept::new(&journal))
        .on_task_type("work", |_: TaskContext| async { Ok("hi") })
        .start(hub.url())
        .await
        .expect("it starts");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    ends_in_its_journal(&journal, &run, &outcome.error).await;
    helped.wait_at_work(0).await;
    let tasks = client.all_tasks(Default::default()).await.expect("tasks");
    let task = tasks.iter().find(|t| t.assignee() == "b");
    assert_eq!(task.map(|t| t.state()), Some(TaskState::Cancelled));
}

#[tokio::test]
async fn a_run_whose_strategy_panics_ends_in_its_journal() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let client = hub.client().await;
    let stand_ins = StandIns::new();
    let _a = start(&hub, &stand_ins, &journal, json!([{"panic": "a bug"}])).await;
    let pending = ask(&client).await;
    let run = run_of(&client, pending.task_id()).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    let why = "the run of this task cannot go on: the handler panicked: a bug";
    assert_eq!(outcome.error, why);
    ends_in_its_journal(&journal, &run, why).await;
}

/// A run that says nothing of the message that it is for.
#[tokio::test]
async fn a_run_that_does_not_say_what_it_is_for_ends_in_its_journal() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let run = RunId::of(&["a", "t", "m"]);
    let other = Driver::new(journal.clone(), "another");
    let in_hand = other.open(run.clone(), "a", Some(begun())).await;
    let in_hand = in_hand.expect("it is free");
    in_hand.release().await.expect("it is held");
    let _a = start(&hub, &StandIns::new(), &journal, json!([])).await;
    let why = "the run of this task cannot go on: it does not say what it is for";
    ends_in_its_journal(&journal, &run, why).await;
}

#[tokio::test]
async fn a_run_whose_beginning_is_damaged_ends_in_its_journal() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let run = RunId::of(&["a", "t", "m"]);
    let other = Driver::new(journal.clone(), "another");
    let in_hand = other.open(run.clone(), "a", Some(begun())).await;
    let in_hand = in_hand.expect("it is free");
    in_hand.release().await.expect("it is held");
    let damaged = Kept {
        unreadable: 1,
        ..Kept::keeping(&journal)
    };
    let _a = Agent::worker(card("a"))
        .conduct("work", Scripted::new(&StandIns::new(), json!([])))
        .journal(Arc::new(damaged))
        .start(hub.url())
        .await
        .expect("it starts");
    let why = format!(
        "the run of this task cannot go on: event 1 of run {run} cannot be read: it is damaged"
    );
    ends_in_its_journal(&journal, &run, &why).await;
}

#[tokio::test]
async fn a_message_whose_run_does_not_say_how_it_began_fails_its_task() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let other = Driver::new(journal.clone(), "another");
    let run = RunId::of(&["a", "t", "m"]);
    let _in_hand = other.open(run, "a", Some(begun())).await;
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

/// What panics once may not do so again.
#[tokio::test]
async fn a_run_whose_world_panics_on_the_way_goes_on() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let client = hub.client().await;
    let (pending, _run) = left_behind(&hub, &journal, &client).await;
    let stand_ins = Arc::new(StandIns {
        without_world: 2,
        ..StandIns::counting()
    });
    stand_ins.gate.add_permits(1);
    let _a = start(&hub, &stand_ins, &journal, json!([])).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "slow");
    assert_eq!(stand_ins.worlds.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_run_that_gets_no_world_in_three_tries_fails() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let client = hub.client().await;
    let (pending, run) = left_behind(&hub, &journal, &client).await;
    let stand_ins = Arc::new(StandIns {
        without_world: usize::MAX,
        ..StandIns::counting()
    });
    let _a = start(&hub, &stand_ins, &journal, json!([])).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    let why = "the run of this task cannot go on: the handler panicked: no world";
    assert_eq!(outcome.error, why);
    ends_in_its_journal(&journal, &run, why).await;
    assert_eq!(stand_ins.worlds.load(Ordering::SeqCst), 3);
}
