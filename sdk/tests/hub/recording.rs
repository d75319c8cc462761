//! Agents that write runs down and leave them to executors.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use agenthub_sdk::{
    Agent, Delegation,
    proto::{
        a2a::{Message, Role},
        agenthub::{AgentEventMetadata, ListMailboxesRequest},
    },
    runs::{
        Journal, RunId,
        journal::{Entry, Filter, JournalDecorator, JournalError, MemoryJournal},
    },
};
use async_trait::async_trait;
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
};

/// A journal that cannot be read the first time that it is asked for a run.
#[derive(Debug)]
struct Stumbling {
    inner: MemoryJournal,
    run: RunId,
    has_stumbled: AtomicBool,
}

#[async_trait]
impl JournalDecorator for Stumbling {
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
        if *run == self.run && !self.has_stumbled.swap(true, Ordering::SeqCst) {
            return Err(JournalError::Unavailable("it stumbles".to_owned()));
        }
        self.inner.read(run, after, limit).await
    }
}

#[tokio::test]
async fn a_further_message_of_a_task_makes_no_run_however_often_it_is_delivered() {
    let (hub, stand_ins) = (Hub::start().await, StandIns::new());
    let journal = Arc::new(Stumbling {
        inner: MemoryJournal::default(),
        run: RunId::of(&["a", "t", "m-2"]),
        has_stumbled: AtomicBool::new(false),
    });
    let (recorded, mut runs) = mpsc::channel(1);
    let agent = Agent::worker(card("a"))
        .conduct("work", Scripted::new(&stand_ins, json!([{"ask": "hi"}])))
        .journal(journal.clone())
        .record_runs(recorded);
    let _agent = agent.start(hub.url()).await.expect("it starts");
    let client = hub.client().await;
    let first = Delegation::to("a").text("go").task_id("t");
    let _pending = client.delegate(first.message_id("m-1")).await;
    soon(runs.recv()).await.expect("a run");
    let further = Message {
        message_id: "m-2".to_owned(),
        task_id: "t".to_owned(),
        ..Message::new(Role::User, "and quickly")
    };
    let routing = AgentEventMetadata {
        to_agent_id: "a".to_owned(),
        ..AgentEventMetadata::default()
    };
    client
        .publish(further, routing)
        .await
        .expect("the task takes it");
    eventually("nothing waits for the agent", async || {
        let request = ListMailboxesRequest {
            agent_id: "a".to_owned(),
            ..ListMailboxesRequest::default()
        };
        let listed = client.operator().mailboxes(request).await;
        let mailboxes = listed.expect("the hub runs").mailboxes;
        let is_empty = mailboxes.iter().all(|m| m.waiting == 0 && m.leased == 0);
        is_empty && journal.has_stumbled.load(Ordering::SeqCst)
    })
    .await;
    let runs = journal.inner.list(&Filter::default()).await;
    let runs = runs.expect("it is in memory").into_iter();
    let runs: Vec<RunId> = runs.map(|listed| listed.run).collect();
    assert_eq!(runs, [RunId::of(&["a", "t", "m-1"])]);
}
