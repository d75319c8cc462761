//! Runs that an agent begins of its own accord.

use std::sync::{Arc, atomic::Ordering};

use agenthub_sdk::{
    Agent, Client, Error, Failure, RunningAgent,
    durable::BeginError,
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::{AgentEventMetadata, ListMailboxesRequest},
    },
    runs::{Journal, journal::MemoryJournal},
};
use serde_json::json;

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
    journals::Kept,
};

async fn agent(hub: &Hub, stand_ins: &Arc<StandIns>, journal: Arc<dyn Journal>) -> RunningAgent {
    let agent = Agent::worker(card("w"))
        .concurrency(1)
        .conduct("run", Scripted::new(stand_ins, json!([{"call": "slow"}])))
        .journal(journal)
        .start(hub.url());
    agent.await.expect("it starts")
}

/// The message of a run, whose task has this id.
fn message(task_id: &str, task_type: &str, text: &str) -> Message {
    Message {
        message_id: task_id.to_owned(),
        task_id: task_id.to_owned(),
        context_id: task_id.to_owned(),
        ..Message::new(Role::User, text)
    }
    .with_metadata("task_type", task_type)
}

async fn begin(agent: &RunningAgent, message: Message) -> Result<bool, BeginError> {
    let starter = agent.run_starter();
    soon(starter.begin(message, AgentEventMetadata::default())).await
}

async fn ends(client: &Client, task_id: &str, state: TaskState) {
    eventually("the task ends", async || {
        let task = client.task(task_id, 0).await;
        task.is_ok_and(|task| task.state() == state)
    })
    .await;
}

#[tokio::test]
async fn a_run_of_its_own_has_a_task_and_counts_among_what_is_in_hand() {
    for is_durable in [true, false] {
        let journal: Arc<dyn Journal> = match is_durable {
            true => Kept::empty(),
            false => Arc::new(MemoryJournal::default()),
        };
        let (hub, stand_ins) = (Hub::start().await, StandIns::new());
        let agent = agent(&hub, &stand_ins, journal).await;
        let client = hub.client().await;
        let first = begin(&agent, message("one", "run", "go")).await;
        assert_eq!(first, Ok(true));
        let task = client.task("one", 0).await.expect("the hub knows it");
        assert_eq!((task.requester(), task.assignee()), ("w", "w"));
        stand_ins.wait_at_work(1).await;
        let starter = agent.run_starter();
        let second = message("two", "run", "go");
        let waiting = tokio::spawn(async move {
            let routing = AgentEventMetadata::default();
            starter.begin(second, routing).await
        });
        for _ in 0..5 {
            let unknown = client.task("two", 0).await;
            assert!(matches!(unknown, Err(Error::NotFound(_))), "{unknown:?}");
        }
        stand_ins.gate.add_permits(2);
        assert_eq!(soon(waiting).await.expect("no panic"), Ok(true));
        ends(&client, "one", TaskState::Completed).await;
        ends(&client, "two", TaskState::Completed).await;
        let again = begin(&agent, message("one", "run", "go")).await;
        assert_eq!(again, Ok(false), "it is over");
        assert_eq!(stand_ins.called.load(Ordering::SeqCst), 2, "once each");
        eventually("nothing waits for the agent", async || {
            let request = ListMailboxesRequest {
                agent_id: "w".to_owned(),
                ..Default::default()
            };
            let listed = client
                .operator()
                .mailboxes(request)
                .await
                .expect("the hub runs");
            let mut mailboxes = listed.mailboxes.iter();
            mailboxes.all(|mailbox| mailbox.waiting == 0 && mailbox.leased == 0)
        })
        .await;

        begin(&agent, message("three", "run", "go"))
            .await
            .expect("there is a place");
        stand_ins.wait_at_work(1).await;
        let cancelled = soon(client.cancel_task("three", "enough")).await;
        assert_eq!(
            cancelled.expect("it is at work").state(),
            TaskState::Cancelled
        );
        agent.stop().await;
        hub.stop().await;
    }
}

#[tokio::test]
async fn what_does_not_become_a_run_leaves_nothing_behind() {
    let (hub, stand_ins, journal) = (Hub::start().await, StandIns::new(), Kept::empty());
    let agent = agent(&hub, &stand_ins, journal.clone()).await;
    let client = hub.client().await;
    let refused = begin(&agent, message("one", "run", "nonsense")).await;
    let why = Failure::rejected("this is nonsense");
    assert_eq!(refused, Err(BeginError::Refused(why)));
    for (id, task_type) in [("", "run"), ("two", "walk")] {
        let invalid = begin(&agent, message(id, task_type, "go")).await;
        let is_invalid = matches!(invalid, Err(BeginError::Hub(Error::Invalid(_))));
        assert!(is_invalid, "{invalid:?}");
    }
    for id in ["one", "two"] {
        let run = Agent::run_of("w", id, id);
        let entries = journal.read(&run, 0, 1).await;
        assert!(entries.is_err(), "{entries:?}");
        let unknown = client.task(id, 0).await;
        assert!(matches!(unknown, Err(Error::NotFound(_))), "{unknown:?}");
    }
    let taken = begin(&agent, message("three", "run", "go")).await;
    assert_eq!(taken, Ok(true), "the place is free");
    agent.stop().await;
    hub.stop().await;
}
