//! Messages that become runs.

use std::sync::{Arc, atomic::Ordering};

use agenthub_sdk::{
    Agent, AgentBuilder, Client, Delegation, TaskContext, Update,
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::{AgentEventMetadata, ListMailboxesRequest},
    },
    runs::{
        Journal, RunEvent, RunId,
        journal::{Filter, MemoryJournal},
    },
};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
    journals::Kept,
};

fn agent(name: &str, stand_ins: &Arc<StandIns>, steps: Value) -> AgentBuilder {
    Agent::worker(card(name)).conduct("work", Scripted::new(stand_ins, steps))
}

#[tokio::test]
async fn a_message_becomes_a_run_and_its_outcome_the_answer() {
    let hub = Hub::start().await;
    let in_memory: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    for journal in [None, Some(in_memory), Some(Kept::empty() as _)] {
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
async fn a_run_belongs_to_the_conversation_of_its_message_and_can_ask_a_person() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let journal = Kept::empty();
    let _agent = agent("a", &stand_ins, json!([{"allowed by": "ann"}]))
        .journal(journal.clone())
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let work = Delegation::to("a").text("go").context_id("talk");
    let pending = client.delegate(work).await.expect("it is taken");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "ann");
    let listed = journal.list(&Filter::default()).await.expect("it works");
    let said = listed.iter().map(|l| (&*l.owner, &*l.strategy, &*l.thread));
    assert_eq!(said.collect::<Vec<_>>(), [("a", "script", "talk")]);
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
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let stand_ins = StandIns::new();
    let journal = Kept::empty();
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
        .journal(Kept::empty())
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
        .journal(Kept::empty())
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

/// What of this agent's mail waits or is out, of which there must be a mailbox.
async fn mail_left(client: &Client) -> u64 {
    let request = ListMailboxesRequest {
        agent_id: "a".into(),
        ..Default::default()
    };
    let listed = client
        .operator()
        .mailboxes(request)
        .await
        .expect("the hub tells");
    let inbox = listed.mailboxes.iter().find(|m| m.name == "inbox");
    let inbox = inbox.expect("it has an inbox");
    inbox.waiting + inbox.leased
}

/// In a journal that survives, the message is done with once the run is written down, so that no other instance gets it while it is at
/// work. In one that does not, it is kept until the end.
#[tokio::test]
async fn a_run_that_is_written_down_for_good_is_acknowledged() {
    let hub = Hub::start().await;
    let in_memory: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    for (journal, is_kept) in [
        (Kept::empty() as Arc<dyn Journal>, true),
        (in_memory, false),
    ] {
        let stand_ins = StandIns::new();
        let agent = agent("a", &stand_ins, json!([{"call": "slow"}, {"call": "slow"}]))
            .journal(journal)
            .start(hub.url())
            .await
            .expect("it starts");
        let client = hub.client().await;
        let pending = client.delegate(Delegation::to("a").text("go")).await;
        let pending = pending.expect("it is taken");
        stand_ins.wait_at_work(1).await;
        match is_kept {
            true => {
                eventually("it is acknowledged", || async {
                    mail_left(&client).await == 0
                })
                .await;
            }
            false => {
                // An acknowledgement would have come before what is shown of the next step.
                stand_ins.gate.add_permits(1);
                let mut done = stand_ins.done.subscribe();
                soon(done.wait_for(|n| *n == 1)).await.expect("it counts");
                stand_ins.wait_at_work(1).await;
                assert_eq!(mail_left(&client).await, 1);
            }
        }
        stand_ins.gate.add_permits(2);
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!(outcome.text, "slow slow");
        eventually("nothing is left", || async {
            mail_left(&client).await == 0
        })
        .await;
        agent.stop().await;
    }
}

/// The process is gone, and its journal with it.
#[tokio::test]
async fn a_run_in_memory_starts_again_elsewhere() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let steps = json!([{"ask": "first"}, {"call": "slow"}]);
    let start = |id: &'static str| {
        agent("a", &stand_ins, steps.clone())
            .instance_id(id)
            .journal(Arc::new(MemoryJournal::default()))
            .start(hub.url())
    };
    let one = start("one").await.expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    stand_ins.wait_at_work(1).await;
    drop(one);
    let _two = start("two").await.expect("it starts");
    eventually("it begins again", || async {
        stand_ins.begun.load(Ordering::SeqCst) == 2
    })
    .await;
    stand_ins.gate.add_permits(2);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "first slow");
}

/// The run goes on in the next process, and begins once, although its message comes again there.
#[tokio::test]
async fn a_message_whose_run_is_written_down_makes_no_other() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let stand_ins = StandIns::new();
    // It dies when the run is written down, before it can acknowledge.
    let dying = Kept {
        opens: Semaphore::new(0),
        ..Kept::keeping(&journal)
    };
    let steps = json!([{"call": "slow"}, {"ask": "then"}]);
    let first = agent("a", &stand_ins, steps)
        .instance_id("one")
        .journal(Arc::new(dying))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    let task = client.task(pending.task_id(), 0).await.expect("a task");
    let run = RunId::of(&["a", pending.task_id(), &task.history[0].message_id]);
    eventually("it is written down", || async {
        journal.read(&run, 0, 1).await.is_ok()
    })
    .await;
    drop(first);
    assert_eq!(mail_left(&client).await, 1, "it comes again");
    let _second = agent("a", &stand_ins, json!([{"ask": "another"}]))
        .instance_id("one")
        .journal(Kept::new(&journal))
        .start(hub.url())
        .await
        .expect("it starts");
    stand_ins.wait_at_work(1).await;
    stand_ins.gate.add_permits(1);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "slow then");
    eventually("it is done with", || async {
        mail_left(&client).await == 0
    })
    .await;
    assert_eq!(stand_ins.begun.load(Ordering::SeqCst), 1);
    assert_eq!(stand_ins.started(), 2);
}

/// It was for a task that has ended meanwhile.
#[tokio::test]
async fn a_message_that_waited_until_its_task_ended_makes_no_run() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let _agent = agent("a", &stand_ins, json!([{"call": "slow"}]))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    stand_ins.wait_at_work(1).await;
    let mut more = Message::new(Role::User, "more").with_metadata("task_type", "work");
    pending.task_id().clone_into(&mut more.task_id);
    let routing = AgentEventMetadata {
        to_agent_id: "a".into(),
        ..Default::default()
    };
    client.publish(more, routing).await.expect("it is taken");
    eventually("both are out", || async { mail_left(&client).await == 2 }).await;
    // Behind it on the same stream: the agent has it when it has this.
    let behind = client.delegate(Delegation::to("a").text("go")).await;
    let behind = behind.expect("it is taken");
    stand_ins.wait_at_work(2).await;
    stand_ins.gate.add_permits(3);
    for pending in [pending, behind] {
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert_eq!(outcome.text, "slow");
    }
    eventually("nothing is left", || async {
        mail_left(&client).await == 0
    })
    .await;
    assert_eq!(stand_ins.begun.load(Ordering::SeqCst), 2);
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
