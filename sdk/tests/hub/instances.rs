//! Several processes of one agent, and how one leaves.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use agenthub_broker::Settings;
use agenthub_sdk::{
    Agent, AgentBuilder, Delegation, Error, TaskContext, Tool, ToolContext,
    hub::Connection,
    model::{self, Completion, Request, Scripted, ToolCall},
    proto::{
        a2a::{Message, Role},
        agenthub::AgentEventMetadata,
    },
};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::harness::{Hub, Line, card, eventually, soon};

#[tokio::test]
async fn two_instances_share_the_work() {
    let hub = Hub::start().await;
    let go_on = Arc::new(Semaphore::new(0));
    let (began, mut begun) = mpsc::channel(8);
    let instance = |name: &'static str| {
        let (began, gate) = (began.clone(), go_on.clone());
        Agent::worker(card("a"))
            .instance_id(name)
            .concurrency(1)
            .on_task_type("work", move |_: TaskContext| {
                let (began, gate) = (began.clone(), gate.clone());
                async move {
                    began.send(name).await?;
                    gate.acquire().await?.forget();
                    Ok(name)
                }
            })
            .start(hub.url())
    };
    let _one = instance("one").await.expect("it starts");
    let _two = instance("two").await.expect("it starts");
    let client = hub.client().await;
    let mut pending = Vec::new();
    for n in 0..4 {
        let delegation = Delegation::to("a").text(n.to_string());
        pending.push(client.delegate(delegation).await.expect("it is taken"));
    }
    let first: BTreeSet<_> = [soon(begun.recv()).await, soon(begun.recv()).await].into();
    assert_eq!(first, BTreeSet::from([Some("one"), Some("two")]));
    go_on.add_permits(4);
    for pending in pending {
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        assert!(outcome.is_completed());
    }
}

fn slow(began: mpsc::Sender<u32>, gate: Arc<Semaphore>) -> AgentBuilder {
    Agent::worker(card("a")).on_task_type("work", move |task: TaskContext| {
        let (began, gate) = (began.clone(), gate.clone());
        async move {
            began.send(task.attempt()).await?;
            gate.acquire().await?.forget();
            Ok("done")
        }
    })
}

#[tokio::test]
async fn who_stops_brings_to_an_end_what_is_in_hand() {
    let hub = Hub::start().await;
    let gate = Arc::new(Semaphore::new(0));
    let (began, mut begun) = mpsc::channel(8);
    let agent = slow(began, gate.clone())
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    soon(begun.recv()).await;
    let stopping = tokio::spawn(agent.stop());
    gate.add_permits(1);
    soon(stopping).await.expect("it stops");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "done");
}

#[tokio::test]
async fn what_a_stopping_instance_cannot_finish_another_one_does() {
    let hub = Hub::start().await;
    let (began, mut begun) = mpsc::channel(8);
    let stuck = Arc::new(Semaphore::new(0));
    let agent = slow(began.clone(), stuck)
        .drain_timeout(Duration::from_millis(100))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    assert_eq!(soon(begun.recv()).await, Some(1));
    soon(agent.stop()).await;

    let free = Arc::new(Semaphore::new(8));
    let _other = slow(began, free).start(hub.url()).await.expect("it starts");
    assert_eq!(soon(begun.recv()).await, Some(2));
    assert_eq!(
        soon(pending.outcome()).await.expect("an outcome").text,
        "done"
    );
}

/// Promise 2: who has lost a task to another instance neither ends it nor takes its message away, and gets it back when that one goes.
#[tokio::test]
async fn what_another_instance_took_over_is_not_acknowledged() {
    let hub = Hub::start_with(Settings {
        presence_lease: Duration::from_secs(1),
        heartbeat_interval: Duration::from_millis(100),
        ..Settings::default()
    })
    .await;
    let line = Line::to(hub.address()).await;
    let (began, mut begun) = mpsc::channel(8);
    let (first, second) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let one = slow(began.clone(), first.clone()).start(line.url()).await;
    let one = one.expect("it starts");
    let client = hub.client().await;
    let pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    assert_eq!(soon(begun.recv()).await, Some(1));

    line.cut().await;
    let other = slow(began, second).start(hub.url()).await;
    let other = other.expect("it starts");
    assert_eq!(soon(begun.recv()).await, Some(2));
    line.mend();
    let mut connection = one.client().connection();
    let back = connection.wait_for(|c| matches!(c, Connection::Connected { .. }));
    soon(back).await.expect("it goes on");
    // What comes from the first now is too late.
    first.add_permits(1);
    eventually("it goes on", async || first.available_permits() == 0).await;
    let later = Message::new(Role::Agent, "what comes after it");
    let to_user = AgentEventMetadata {
        to_agent_id: "user".to_owned(),
        ..Default::default()
    };
    soon(one.client().publish(later, to_user))
        .await
        .expect("taken");

    drop(other);
    first.add_permits(1);
    assert_eq!(soon(begun.recv()).await, Some(3));
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "done");
}

/// An agent that thinks, and waits in between. It tells of each time that it does.
fn thinking(began: mpsc::Sender<()>, free: Arc<Semaphore>) -> AgentBuilder {
    let wait = move |_: ToolContext, _: Value| {
        let (began, free) = (began.clone(), free.clone());
        async move {
            began.send(()).await?;
            free.acquire().await?.forget();
            Ok("waited")
        }
    };
    let model = Scripted::from_completion_fn(|request: &Request| {
        let mut messages = request.messages.iter();
        let has_waited = messages.any(|m| m.role == model::PromptRole::Tool);
        let call = ToolCall {
            id: "c".to_owned(),
            name: "wait".to_owned(),
            arguments: json!({}),
        };
        Ok::<_, model::ModelError>(match has_waited {
            true => Completion {
                text: "done".to_owned(),
                ..Completion::default()
            },
            false => Completion {
                tool_calls: vec![call],
                ..Completion::default()
            },
        })
    });
    let tool = Tool::new("wait", "Waits", json!({"type": "object"}), wait);
    Agent::worker(card("a")).model(model).tool(tool)
}

/// Promise 2, of a run: the hub says that another instance has it, whatever the words.
#[tokio::test]
async fn a_run_that_another_instance_took_over_is_left_to_it() {
    let hub = Hub::start_with(Settings {
        presence_lease: Duration::from_secs(1),
        heartbeat_interval: Duration::from_millis(100),
        ..Settings::default()
    })
    .await;
    let line = Line::to(hub.address()).await;
    let (began, mut begun) = mpsc::channel(8);
    let (first, second) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let one = thinking(began.clone(), first.clone()).start(line.url());
    let one = one.await.expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    soon(begun.recv()).await.expect("the first is at work");

    line.cut().await;
    let other = thinking(began, second).start(hub.url()).await;
    let other = other.expect("it starts");
    soon(begun.recv()).await.expect("the second is at work");
    line.mend();
    let mut connection = one.client().connection();
    let back = connection.wait_for(|c| matches!(c, Connection::Connected { .. }));
    soon(back).await.expect("it goes on");
    // What comes from the first now is too late.
    first.add_permits(1);
    eventually("it goes on", async || first.available_permits() == 0).await;

    // It comes back to the first, which has only to say again what came of it.
    drop(other);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "done");
}

#[tokio::test]
async fn after_closing_nothing_hangs() {
    let hub = Hub::start().await;
    let gate = Arc::new(Semaphore::new(0));
    let (began, mut begun) = mpsc::channel(8);
    let _agent = slow(began, gate).start(hub.url()).await.expect("it starts");
    let client = hub.client().await;
    let pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    soon(begun.recv()).await;
    soon(client.close()).await;
    let outcome = soon(pending.outcome()).await;
    assert!(matches!(outcome, Err(Error::Closed(_))), "{outcome:?}");
    let late = soon(client.ask("a", "anyone?")).await;
    assert!(matches!(late, Err(Error::Closed(_))), "{late:?}");
}
