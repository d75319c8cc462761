//! Journals that take their time.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use agenthub_sdk::{
    Agent, Delegation, RunningAgent,
    runs::{
        Journal, RunId,
        journal::{Entry, JournalDecorator, JournalError, MemoryJournal},
    },
};
use async_trait::async_trait;
use serde_json::json;
use tokio::{sync::Semaphore, time::sleep};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
};

/// A journal that takes long to read one run.
#[derive(Debug)]
struct Slow {
    inner: MemoryJournal,
    run: RunId,
    gate: Semaphore,
    asked: Semaphore,
}

#[async_trait]
impl JournalDecorator for Slow {
    fn inner(&self) -> &dyn Journal {
        &self.inner
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        if *run == self.run {
            self.asked.add_permits(1);
            self.gate.acquire().await.expect("it is open").forget();
        }
        self.inner.read(run, after, limit).await
    }
}

async fn start(hub: &Hub, stand_ins: &Arc<StandIns>) -> (RunningAgent, Arc<Slow>) {
    let journal = Arc::new(Slow {
        inner: MemoryJournal::default(),
        run: RunId::of(&["a", "t-slow", "m-slow"]),
        gate: Semaphore::new(0),
        asked: Semaphore::new(0),
    });
    let agent = Agent::worker(card("a"))
        .conduct("work", Scripted::new(stand_ins, json!([{"ask": "hi"}])))
        .journal(journal.clone());
    let agent = agent.start(hub.url()).await.expect("it starts");
    (agent, journal)
}

fn slow() -> Delegation {
    let delegation = Delegation::to("a").text("go").context_id("c");
    delegation.task_id("t-slow").message_id("m-slow")
}

#[tokio::test]
async fn a_message_whose_journal_is_slow_holds_up_no_other() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let (_a, journal) = start(&hub, &stand_ins).await;
    let client = hub.client().await;
    let pending = client.delegate(slow()).await.expect("it is taken");
    soon(journal.asked.acquire()).await.expect("open").forget();
    let asked = tokio::time::Instant::now();
    let other = soon(client.ask("a", "go")).await.expect("an outcome");
    assert_eq!(other.text, "hi");
    assert!(asked.elapsed() < Duration::from_secs(5), "it waited");
    journal.gate.add_permits(100);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "hi");
}

/// What a conductor makes of messages may depend on what was said before in their conversation.
#[tokio::test]
async fn the_messages_of_a_conversation_begin_in_their_order() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let (_a, journal) = start(&hub, &stand_ins).await;
    let client = hub.client().await;
    let first = client.delegate(slow()).await.expect("it is taken");
    soon(journal.asked.acquire()).await.expect("open").forget();
    let behind = Delegation::to("a").text("nonsense").context_id("c");
    let behind = client.delegate(behind).await.expect("it is taken");
    // Behind it on the same stream: the agent has that one when it has this.
    soon(client.ask("a", "go")).await.expect("an outcome");
    // Time for it to begin, which it does not.
    sleep(Duration::from_millis(200)).await;
    assert_eq!(stand_ins.begun.load(Ordering::SeqCst), 1);
    journal.gate.add_permits(100);
    soon(first.outcome()).await.expect("an outcome");
    soon(behind.outcome()).await.expect("an outcome");
    eventually("both have begun", || async {
        stand_ins.begun.load(Ordering::SeqCst) == 3
    })
    .await;
}
