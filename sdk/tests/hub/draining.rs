//! Agents that are told to stop while their runs are at work.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use agenthub_sdk::{
    Agent, AgentBuilder,
    runs::{Journal, RunEvent, StepResult, journal::MemoryJournal},
};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, soon},
    journals::Kept,
    recovery::{ask, run_of},
};

fn agent(stand_ins: &Arc<StandIns>, journal: &Arc<MemoryJournal>) -> AgentBuilder {
    let steps = json!([{"call": "slow"}, {"ask": "then"}]);
    Agent::worker(card("a"))
        .instance_id("a-1")
        .conduct("work", Scripted::new(stand_ins, steps))
        .journal(Kept::new(journal))
}

#[tokio::test]
async fn a_tool_that_is_at_work_when_its_agent_stops_is_begun_once() {
    let hub = Hub::start().await;
    let (stand_ins, journal) = (StandIns::new(), Arc::default());
    let a = agent(&stand_ins, &journal).start(hub.url()).await;
    let a = a.expect("it starts");
    let client = hub.client().await;
    let pending = ask(&client).await;
    let run = run_of(&client, pending.task_id()).await;
    stand_ins.wait_at_work(1).await;
    let mut stopping = tokio::spawn(a.stop());
    let early = timeout(Duration::from_millis(300), &mut stopping).await;
    assert!(early.is_err(), "it waits for its tool");
    stand_ins.gate.add_permits(1);
    soon(stopping).await.expect("it stops");
    let entries = journal.read(&run, 0, 100).await.expect("it is there");
    let last = entries.last().map(|e| &e.event);
    assert!(
        matches!(
            last,
            Some(RunEvent::StepEnded {
                result: StepResult::ToolReturned(_),
                ..
            })
        ),
        "{last:?}"
    );
    assert_eq!(stand_ins.asked.load(Ordering::SeqCst), 0);

    let _a = agent(&stand_ins, &journal).start(hub.url()).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "slow then");
    assert_eq!(stand_ins.called.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_tool_that_goes_on_for_too_long_is_told_to_stop_and_called_again_elsewhere() {
    let hub = Hub::start().await;
    let (stand_ins, journal) = (StandIns::new(), Arc::default());
    let a = agent(&stand_ins, &journal)
        .drain_timeout(Duration::from_millis(200))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = ask(&client).await;
    stand_ins.wait_at_work(1).await;
    let asked = Instant::now();
    a.stop().await;
    assert!(asked.elapsed() >= Duration::from_millis(200));
    assert_eq!(*stand_ins.at_work.borrow(), 0);
    stand_ins.gate.add_permits(1);
    let _a = agent(&stand_ins, &journal).start(hub.url()).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "slow then");
    assert_eq!(stand_ins.called.load(Ordering::SeqCst), 2);
}
