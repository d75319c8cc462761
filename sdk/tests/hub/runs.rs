//! Messages that become runs.

use std::sync::{Arc, atomic::Ordering};

use agenthub_sdk::{
    Agent, AgentBuilder, Delegation, Failure, TaskContext, Update,
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::{AgentEventMetadata, ListMailboxesRequest},
    },
    runs::{Journal, RunEvent, RunId, journal::MemoryJournal},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
};

fn agent(name: &str, stand_ins: &Arc<StandIns>, steps: Value) -> AgentBuilder {
    Agent::worker(card(name)).conduct("work", Scripted::new(stand_ins, steps))
}

#[tokio::test]
async fn a_message_becomes_a_run_and_its_outcome_the_answer() {
    let hub = Hub::start().await;
    for journal in [None, Some(Arc::new(MemoryJournal::default()))] {
        let stand_ins = StandIns::new();
        let mut builder = agent("a", &stand_ins, json!([{"ask": "one"}, {"call": "two"}]));
        if let Some(journal) = journal {
            builder = builder.journal(journal);
        }
        let running = builder.start(hub.url()).await.expect("it starts");
        let client = hub.client().await;
        let mut pending = client
            .delegate(Delegation::to("a").text("go"))
            .await
            .expect("it is taken");
        let mut updates = pending.updates();
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!(
            (outcome.text.as_str(), outcome.state),
            ("one two", TaskState::Completed)
        );
        let spent = outcome.spent.expect("it tells");
        assert_eq!((spent.tokens, spent.calls), (10, 2));
        assert_eq!(
            (stand_ins.begun.load(Ordering::SeqCst), stand_ins.started()),
            (1, 2)
        );
        let Some(Update::Status(first)) = soon(updates.next()).await else {
            panic!("it is shown as working first");
        };
        assert_eq!(first.status.map(|s| s.state()), Some(TaskState::Working));
        running.stop().await;
    }
}

#[tokio::test]
async fn a_message_without_a_task_is_a_run_too_and_is_answered_once() {
    let hub = Hub::start().await;
    let (heard, mut hears) = mpsc::channel(8);
    let asker = Agent::worker(card("asker"))
        .on_any(move |task: TaskContext| {
            let heard = heard.clone();
            async move {
                heard.send(task.text()).await?;
                Ok::<_, Failure>(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let _answerer = agent("answerer", &stand_ins, json!([{"ask": "hello"}]))
        .journal(journal.clone())
        .start(hub.url())
        .await
        .expect("it starts");
    let message = Message::new(Role::User, "hi").with_metadata("task_type", "work");
    let message_id = message.message_id.clone();
    let routing = AgentEventMetadata {
        to_agent_id: "answerer".into(),
        ..Default::default()
    };
    let published = asker.client().publish(message, routing).await;
    let published = published.expect("it is taken");
    let event = format!("{}@{}", published.event_id, published.position);
    let run = RunId::of(&["answerer", &event, &message_id]);
    assert_eq!(soon(hears.recv()).await.as_deref(), Some("hello"));
    eventually("the run is over", || async {
        let entries = journal.read(&run, 0, 100).await.unwrap_or_default();
        entries
            .last()
            .is_some_and(|e| matches!(e.event, RunEvent::Ended { .. }))
    })
    .await;
    assert!(hears.try_recv().is_err(), "it is answered once");
}

#[tokio::test]
async fn what_cannot_begin_ends_its_task() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let _agent = agent("a", &stand_ins, json!([{"ask": "one"}]))
        .journal(Arc::new(MemoryJournal::default()))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let outcome = soon(client.ask("a", "nonsense")).await.expect("an outcome");
    assert_eq!(
        (outcome.state, outcome.error.as_str()),
        (TaskState::Rejected, "this is nonsense")
    );
    assert_eq!(stand_ins.started(), 0);
}

#[tokio::test]
async fn runs_of_agents_hand_work_to_runs_of_agents() {
    let hub = Hub::start().await;
    let (a, b) = (StandIns::new(), StandIns::new());
    let steps = json!([
        [
            {"to": "b", "steps": [{"ask": "left"}]},
            {"to": "b", "steps": [{"ask": "right"}]}
        ],
        {"ask": "done"}
    ]);
    let _a = agent("a", &a, steps)
        .concurrency(1)
        .journal(Arc::new(MemoryJournal::default()))
        .start(hub.url())
        .await
        .expect("it starts");
    let _b = agent("b", &b, json!([]))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let outcome = soon(client.ask("a", "go")).await.expect("an outcome");
    assert_eq!(outcome.text, "left right done");
    // What the others used is the run's as well.
    let spent = outcome.spent.expect("it tells");
    assert_eq!((spent.tokens, spent.calls), (30, 5));
    let tasks = client.all_tasks(Default::default()).await.expect("tasks");
    let children: Vec<_> = tasks.iter().filter(|t| t.requester() == "a").collect();
    assert_eq!(children.len(), 2);
    assert!(children.iter().all(|t| t.context_id == outcome.task_id));
}

/// With a journal, the message is acknowledged once the run is written down, so that no other instance gets it while it is at work.
#[tokio::test]
async fn a_run_that_is_written_down_is_acknowledged() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let _agent = agent("a", &stand_ins, json!([{"call": "slow"}]))
        .journal(Arc::new(MemoryJournal::default()))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    stand_ins.wait_at_work(1).await;
    eventually("it is acknowledged", || async {
        let request = ListMailboxesRequest {
            agent_id: "a".into(),
            ..Default::default()
        };
        let listed = client.mailboxes(request).await.expect("the hub tells");
        listed
            .mailboxes
            .iter()
            .filter(|m| m.name == "inbox")
            .all(|m| m.waiting + m.leased == 0)
    })
    .await;
    stand_ins.gate.add_permits(1);
    assert_eq!(
        soon(pending.outcome()).await.expect("an outcome").text,
        "slow"
    );
}

/// Another instance has the run when the message comes again: it is left to it.
#[tokio::test]
async fn a_message_whose_run_is_written_down_makes_no_other() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let stand_ins = StandIns::new();
    let first = agent("a", &stand_ins, json!([{"call": "slow"}, {"ask": "then"}]))
        .instance_id("one")
        .journal(journal.clone())
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    stand_ins.wait_at_work(1).await;
    // The run goes on in the next process, and has begun once.
    first.stop().await;
    let _second = agent("a", &stand_ins, json!([{"ask": "another"}]))
        .instance_id("two")
        .journal(journal)
        .start(hub.url())
        .await
        .expect("it starts");
    stand_ins.wait_at_work(1).await;
    stand_ins.gate.add_permits(1);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "slow then");
    assert_eq!(stand_ins.begun.load(Ordering::SeqCst), 1);
    assert_eq!(
        stand_ins.called.load(Ordering::SeqCst),
        2,
        "the call was out, and is out again"
    );
}

/// Without a journal it starts again where it is delivered next.
#[tokio::test]
async fn without_a_journal_a_run_starts_again() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let steps = json!([{"ask": "first"}, {"call": "slow"}]);
    let start = |id: &'static str| {
        agent("a", &stand_ins, steps.clone())
            .instance_id(id)
            .drain_timeout(std::time::Duration::ZERO)
            .start(hub.url())
    };
    let one = start("one").await.expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    stand_ins.wait_at_work(1).await;
    one.stop().await;
    let _two = start("two").await.expect("it starts");
    stand_ins.wait_at_work(1).await;
    stand_ins.gate.add_permits(1);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "first slow");
    assert_eq!(stand_ins.begun.load(Ordering::SeqCst), 2);
    assert_eq!(stand_ins.asked.load(Ordering::SeqCst), 2);
}
