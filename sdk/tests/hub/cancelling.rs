//! Cancelled is what has stopped.

use std::sync::{Arc, atomic::Ordering};

use agenthub_sdk::{
    Agent, Delegation, Failure, TaskContext,
    durable::{Beginning, Conductor},
    proto::a2a::TaskState,
    runs::{Journal, RunEvent, RunId, Strategy, World, journal::MemoryJournal},
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, Line, card, connect, eventually, soon},
    journals::Kept,
};

/// Three levels deep, with stand-ins for models and tools that count.
#[tokio::test]
async fn from_cancelled_on_no_model_and_no_tool_is_called() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let stand_ins = StandIns::new();
    let leaf = json!([[{"call": "stubborn"}, {"ask": "slow words"}], {"ask": "more"}]);
    let middle = json!([[{"to": "c", "steps": leaf}, {"call": "slow"}], {"ask": "more"}]);
    let top = json!([[{"to": "b", "steps": middle}, {"ask": "slow words"}], {"ask": "more"}]);
    let mut agents = Vec::new();
    for (name, steps) in [("a", top), ("b", json!([])), ("c", json!([]))] {
        let agent = Agent::worker(card(name))
            .conduct("work", Scripted::new(&stand_ins, steps))
            .journal(Kept::new(&journal));
        agents.push(agent.start(hub.url()).await.expect("it starts"));
    }
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    // Two at the leaf, one each above.
    stand_ins.wait_at_work(4).await;
    let (canceller, task_id) = (client.clone(), pending.task_id().to_owned());
    let cancelling = tokio::spawn(async move { canceller.cancel_task(&task_id, "enough").await });
    // Nobody says that it has stopped while the tool at the leaf has not.
    stand_ins.wait_at_work(1).await;
    for task in client.all_tasks(Default::default()).await.expect("tasks") {
        assert_eq!(task.state(), TaskState::Working, "{}", task.assignee());
    }
    stand_ins.gate.add_permits(1);
    let cancelled = soon(cancelling).await.expect("no panic");
    assert!(cancelled.is_ok_and(|t| t.state() == TaskState::Cancelled));
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Cancelled);

    // Everything below has stopped by then, and nothing goes on.
    assert_eq!(*stand_ins.at_work.borrow(), 0);
    assert_eq!(stand_ins.started(), 4);
    let tasks = client.all_tasks(Default::default()).await.expect("tasks");
    assert_eq!(tasks.len(), 3);
    for task in tasks {
        assert_eq!(task.state(), TaskState::Cancelled, "{}", task.id);
        let asked = client.task(&task.id, 0).await.expect("the hub knows it");
        let run = RunId::of(&[task.assignee(), &task.id, &asked.history[0].message_id]);
        eventually("the run is over", || async {
            let entries = journal.read(&run, 0, 1_000).await.unwrap_or_default();
            entries
                .last()
                .is_some_and(|e| matches!(e.event, RunEvent::Ended { .. }))
        })
        .await;
    }
    assert_eq!(stand_ins.started(), 4);
    assert_eq!(*stand_ins.done.borrow(), 1, "the tool at the leaf");
}

#[tokio::test]
async fn a_run_without_a_journal_stops_as_well() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let _agent = Agent::worker(card("a"))
        .conduct(
            "work",
            Scripted::new(&stand_ins, json!([{"call": "slow"}, {"ask": "more"}])),
        )
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    stand_ins.wait_at_work(1).await;
    pending.cancel("enough").await.expect("it is cancelled");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        (outcome.state, outcome.error.as_str()),
        (TaskState::Cancelled, "enough")
    );
    assert_eq!(*stand_ins.at_work.borrow(), 0);
    assert_eq!(stand_ins.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_task_is_cancelled_when_its_function_has_stopped() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(8);
    let gate = Arc::new(Semaphore::new(0));
    let hold = gate.clone();
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let (told, hold) = (told.clone(), hold.clone());
            async move {
                told.send("at work").await?;
                task.cancelled().await;
                told.send("stopping").await?;
                hold.acquire().await?.forget();
                Ok("too late")
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    assert_eq!(soon(tells.recv()).await, Some("at work"));
    let task_id = pending.task_id().to_owned();
    let canceller = client.clone();
    let cancelling = tokio::spawn(async move { canceller.cancel_task(&task_id, "enough").await });
    assert_eq!(soon(tells.recv()).await, Some("stopping"));
    // Cancelled before the hub was told that the work had begun: it goes on all the same.
    eventually("the task is at work", || async {
        let task = client.task(pending.task_id(), -1).await.expect("a task");
        assert!(!task.state().is_terminal(), "its function has not stopped");
        task.state() == TaskState::Working
    })
    .await;
    gate.add_permits(1);
    let cancelled = soon(cancelling).await.expect("no panic");
    let cancelled = cancelled.expect("it is cancelled");
    assert_eq!(cancelled.state(), TaskState::Cancelled);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        (outcome.state, outcome.error.as_str()),
        (TaskState::Cancelled, "enough")
    );
}

/// Who cannot be told is told when the line is mended.
#[tokio::test]
async fn a_cancellation_that_was_missed_is_learned_later() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let stand_ins = StandIns::new();
    let _agent = Agent::worker(card("a"))
        .conduct(
            "work",
            Scripted::new(&stand_ins, json!([{"call": "slow"}, {"ask": "more"}])),
        )
        .journal(Kept::empty())
        .start(line.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    stand_ins.wait_at_work(1).await;
    line.cut().await;
    pending.cancel("enough").await.expect("it is cancelled");
    assert_eq!(*stand_ins.at_work.borrow(), 1);
    line.mend();
    stand_ins.wait_at_work(0).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Cancelled);
    assert_eq!(stand_ins.started(), 1);
}

/// What is called back before the hub has it, does not come to life later.
#[tokio::test]
async fn what_is_still_on_its_way_is_called_back_too() {
    let hub = Hub::start().await;
    let client = hub.client().await;
    soon(client.recall("nobody-knows-it", "enough")).await;

    let (told, mut tells) = mpsc::channel(8);
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                told.send(()).await?;
                task.cancelled().await;
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let delegation = Delegation::to("a").text("go").task_id("t").context_id("t");
    let handed = client.hand_over(delegation.message_id("m"), false).await;
    let handed = handed.expect("it is taken");
    soon(tells.recv()).await;
    soon(client.recall("t", "enough")).await;
    let task = client.task("t", -1).await.expect("a task");
    assert_eq!(task.state(), TaskState::Cancelled);
    assert_eq!(soon(handed.ended()).await.state, "cancelled");
    // Fine a second time.
    soon(client.recall("t", "again")).await;
}

/// The message is in the outbox when the line breaks, and goes out when it is mended.
#[tokio::test]
async fn what_is_called_back_while_the_hub_is_away_does_not_start_later() {
    let hub = Hub::start().await;
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", |task: TaskContext| async move {
            task.cancelled().await;
            Ok(())
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let line = Line::to(hub.address()).await;
    let client = connect(&line.url()).await;
    line.cut().await;
    let delegation = Delegation::to("a").text("go").task_id("t").message_id("m");
    let giver = client.clone();
    let handing = tokio::spawn(async move { giver.hand_over(delegation, false).await });
    client.recall("t", "enough").await;
    handing.abort();
    line.mend();
    let watcher = hub.client().await;
    eventually("it is cancelled", || async {
        let task = watcher.task("t", -1).await;
        task.is_ok_and(|t| t.state() == TaskState::Cancelled)
    })
    .await;
}

/// What is cancelled while its run is being written down.
#[derive(Debug)]
struct Overtaken {
    inner: Arc<Scripted>,
    begun: mpsc::Sender<TaskContext>,
}

impl Conductor for Overtaken {
    fn strategy(&self) -> &dyn Strategy {
        self.inner.strategy()
    }

    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        self.begun.try_send(task.clone()).expect("there is room");
        self.inner.begin(task)
    }

    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World> {
        self.inner.world(task, run)
    }
}

#[tokio::test]
async fn a_task_that_is_cancelled_before_its_run_begins_asks_nothing() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let (begun, mut begins) = mpsc::channel(1);
    let conductor = Overtaken {
        inner: Scripted::new(&stand_ins, json!([{"ask": "one"}, {"call": "slow"}])),
        begun,
    };
    let journal = Arc::new(Kept {
        opens: Semaphore::new(0),
        ..Kept::keeping(&Arc::default())
    });
    let _agent = Agent::worker(card("a"))
        .conduct("work", Arc::new(conductor))
        .journal(journal.clone())
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    let task = soon(begins.recv()).await.expect("it begins");
    let (canceller, task_id) = (client.clone(), pending.task_id().to_owned());
    let cancelling = tokio::spawn(async move { canceller.cancel_task(&task_id, "enough").await });
    soon(task.cancelled()).await;
    journal.opens.add_permits(1);
    let cancelled = soon(cancelling).await.expect("no panic");
    assert!(cancelled.is_ok_and(|t| t.state() == TaskState::Cancelled));
    assert_eq!(stand_ins.started(), 0);
}
