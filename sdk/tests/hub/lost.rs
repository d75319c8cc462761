//! Agents that come back without their journal.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::{Agent, RunningAgent, proto::a2a::TaskState, runs::journal::MemoryJournal};
use serde_json::json;
use tokio::time::timeout;

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, soon},
    journals::Kept,
    recovery::ask,
};

async fn start(
    hub: &Hub,
    instance: &str,
    stand_ins: &Arc<StandIns>,
    journal: &Arc<MemoryJournal>,
) -> RunningAgent {
    let agent = Agent::worker(card("a"))
        .instance_id(instance)
        .drain_timeout(Duration::ZERO)
        .conduct("work", Scripted::new(stand_ins, json!([{"call": "slow"}])))
        .journal(Kept::new(journal));
    agent.start(hub.url()).await.expect("it starts")
}

/// Its message is acknowledged, so nobody else would end the task before its deadline.
#[tokio::test]
async fn an_agent_that_comes_back_without_its_journal_fails_its_task() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let a = start(&hub, "one", &stand_ins, &Arc::default()).await;
    let client = hub.client().await;
    let pending = ask(&client).await;
    stand_ins.wait_at_work(1).await;
    a.stop().await;

    let journal = Arc::default();
    let _a = start(&hub, "two", &stand_ins, &journal).await;
    let meanwhile = ask(&client).await;
    stand_ins.wait_at_work(1).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Failed);
    let why =
        "the run of this task cannot go on: its agent has come back without the journal of it";
    assert_eq!(outcome.error, why);
    // What it has in hand itself is not lost.
    stand_ins.gate.add_permits(1);
    let outcome = soon(meanwhile.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Completed);
}

/// An instance that is there has its runs in a journal of its own.
#[tokio::test]
async fn the_task_of_another_instance_is_left_to_it() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let _one = start(&hub, "one", &stand_ins, &Arc::default()).await;
    let client = hub.client().await;
    let pending = ask(&client).await;
    stand_ins.wait_at_work(1).await;
    let _two = start(&hub, "two", &stand_ins, &Arc::default()).await;
    let mut outcome = Box::pin(pending.outcome());
    let early = timeout(Duration::from_secs(14), &mut outcome).await;
    assert!(early.is_err(), "{early:?}");
    stand_ins.gate.add_permits(1);
    let outcome = soon(outcome).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Completed);
}
