//! What runs at the same time, and what waits.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use agenthub_sdk::{
    Agent, Delegation, Reply, TaskContext,
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::AgentEventMetadata,
    },
};
use tokio::sync::{Barrier, Semaphore, mpsc};

use crate::harness::{Hub, card, soon};

#[tokio::test]
async fn two_tasks_run_at_once() {
    let hub = Hub::start().await;
    let both = Arc::new(Barrier::new(2));
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |_: TaskContext| {
            let both = both.clone();
            async move {
                both.wait().await;
                Ok("met")
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let (one, two) = tokio::join!(soon(client.ask("a", "1")), soon(client.ask("a", "2")));
    assert_eq!(one.expect("an outcome").text, "met");
    assert_eq!(two.expect("an outcome").text, "met");
}

#[tokio::test]
async fn messages_of_one_task_wait_for_each_other() {
    let hub = Hub::start().await;
    let (began, mut begun) = mpsc::channel(8);
    let go_on = Arc::new(Semaphore::new(0));
    let gate = go_on.clone();
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let (began, gate) = (began.clone(), gate.clone());
            async move {
                began.send(task.text()).await?;
                gate.acquire().await?.forget();
                Ok(match task.text().as_str() {
                    "first" => Reply::input_required("and then?"),
                    text => Reply::text(text),
                })
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let first = Delegation::to("a")
        .text("first")
        .task_id("t")
        .context_id("c");
    let pending = client.delegate(first).await.expect("it is taken");
    assert_eq!(soon(begun.recv()).await.as_deref(), Some("first"));
    for (task, text) in [("t", "second"), ("other", "third")] {
        let mut message = Message::new(Role::User, text);
        (message.task_id, message.context_id) = (task.into(), "c".into());
        let routing = AgentEventMetadata {
            to_agent_id: "a".into(),
            ..Default::default()
        };
        client.publish(message, routing).await.expect("it is taken");
    }
    assert_eq!(
        soon(begun.recv()).await.as_deref(),
        Some("third"),
        "the second waits"
    );
    go_on.add_permits(2);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::InputRequired);
    assert_eq!(soon(begun.recv()).await.as_deref(), Some("second"));
}

#[tokio::test]
async fn no_more_handlers_run_than_the_agent_allows() {
    let hub = Hub::start().await;
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (began, mut begun) = mpsc::channel(8);
    let go_on = Arc::new(Semaphore::new(0));
    let (gate, counted) = (go_on.clone(), most.clone());
    let _agent = Agent::worker(card("a"))
        .concurrency(2)
        .on_task_type("work", move |_: TaskContext| {
            let (gate, running, most) = (gate.clone(), running.clone(), counted.clone());
            let began = began.clone();
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                began.send(()).await?;
                gate.acquire().await?.forget();
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let mut pending = Vec::new();
    for _ in 0..6 {
        pending.push(
            client
                .delegate(Delegation::to("a").text("go"))
                .await
                .expect("it is taken"),
        );
    }
    for _ in 0..6 {
        soon(begun.recv()).await;
        go_on.add_permits(1);
    }
    for pending in pending {
        assert!(
            soon(pending.outcome())
                .await
                .expect("an outcome")
                .is_completed()
        );
    }
    assert!(most.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn handlers_are_called_in_the_order_of_delivery() {
    let hub = Hub::start().await;
    let (called, mut calls) = mpsc::channel(64);
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            called.try_send(task.text()).expect("there is room");
            async { Ok(()) }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    for n in 0..50 {
        let delegation = Delegation::to("a").text(n.to_string()).context_id("c");
        client.delegate(delegation).await.expect("it is taken");
    }
    for n in 0..50 {
        assert_eq!(soon(calls.recv()).await, Some(n.to_string()));
    }
}
