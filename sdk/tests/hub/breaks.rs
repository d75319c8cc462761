//! Broken lines and restarted hubs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_broker::Settings;
use agenthub_sdk::{
    Agent, Client, Delegation, Error, Reply, TaskContext, Update,
    hub::Connection,
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::{AgentEventMetadata, Durability},
    },
};
use tokio::sync::{Semaphore, mpsc};

use crate::harness::{Hub, Line, card, connect, eventually, soon};

/// spec: HUB-1
#[tokio::test]
async fn after_a_restart_of_the_hub_all_come_back_and_work() {
    let hub = Hub::start().await;
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", async |task: TaskContext| Ok(task.text()))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = Client::builder(hub.url())
        .watch_agents(true)
        .connect()
        .await;
    let client = client.expect("the hub is there");
    assert!(
        soon(client.ask("a", "1"))
            .await
            .expect("an outcome")
            .is_completed()
    );
    let incarnation = |c: &Connection| match c {
        Connection::Connected { incarnation } => Some(incarnation.clone()),
        _ => None,
    };
    let mut connection = client.connection();
    let before = incarnation(&connection.borrow_and_update());

    let hub = hub.restart().await;
    soon(connection.wait_for(|c| incarnation(c).is_some_and(|i| Some(i) != before)))
        .await
        .expect("it is alive");
    // The agent may come back later than the client; its mail waits.
    let outcome = soon(client.ask("a", "2")).await.expect("an outcome");
    assert_eq!(outcome.text, "2");
    assert!(client.agent("a").await.is_ok(), "it has registered again");
    eventually("the directory is right", || async {
        client.directory().present().len() == 1
    })
    .await;
    hub.stop().await;
}

#[tokio::test]
async fn a_task_that_a_restart_has_lost_is_said_to_be_lost() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(8);
    let agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let told = told.clone();
            async move {
                told.send("at work").await?;
                task.cancelled().await;
                told.send("told to stop").await?;
                Ok(())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    assert_eq!(soon(tells.recv()).await, Some("at work"));
    let task_id = pending.task_id().to_owned();
    let _hub = hub.restart().await;
    assert_eq!(soon(pending.outcome()).await, Err(Error::Lost { task_id }));
    assert_eq!(soon(tells.recv()).await, Some("told to stop"));
    agent.stop().await;
}

#[tokio::test]
async fn a_line_that_breaks_mid_task_still_yields_exactly_one_outcome() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let gate = Arc::new(Semaphore::new(0));
    let calls = Arc::new(AtomicUsize::new(0));
    let (began, mut begun) = mpsc::channel(8);
    let (held, called) = (gate.clone(), calls.clone());
    let agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            let (gate, calls, began) = (held.clone(), called.clone(), began.clone());
            async move {
                calls.fetch_add(1, Ordering::SeqCst);
                began.send(()).await?;
                gate.acquire().await?.forget();
                task.publish_update("half").await?;
                Ok("done")
            }
        })
        .start(line.url())
        .await
        .expect("it starts");
    // Both ends lose their line, and the result is published while it is away.
    let client = connect(&line.url()).await;
    let mut pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    soon(begun.recv()).await;
    let mut connection = agent.client().connection();
    line.cut().await;
    soon(connection.wait_for(|c| matches!(c, Connection::Reconnecting { .. })))
        .await
        .expect("it is alive");
    gate.add_permits(1);
    line.mend();

    let mut updates = pending.updates();
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        (outcome.state, outcome.text.as_str()),
        (TaskState::Completed, "done")
    );
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let mut ends = 0;
    while let Some(update) = soon(updates.next()).await {
        let is_end = |s: &agenthub_sdk::proto::a2a::TaskStatus| s.state().is_terminal();
        ends += usize::from(
            matches!(update, Update::Status(u) if u.status.as_ref().is_some_and(is_end)),
        );
    }
    assert!(ends <= 1, "{ends} ends");
    let task = client.task(&outcome.task_id, 0).await.expect("it is kept");
    assert_eq!(task.history.len(), 2, "nothing is there twice");
}

#[tokio::test]
async fn many_breaks_lose_and_repeat_nothing() {
    // What was under way when the line broke comes again after this time.
    let hub = Hub::start_with(Settings {
        ack_deadline: Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    let line = Line::to(hub.address()).await;
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", async |task: TaskContext| Ok(task.text()))
        .start(line.url())
        .await
        .expect("it starts");
    let client = connect(&line.url()).await;
    let asking = async {
        let mut all = tokio::task::JoinSet::new();
        for n in 0..200 {
            let client = client.clone();
            all.spawn(async move { (n, client.ask("a", n.to_string()).await) });
            tokio::task::yield_now().await;
        }
        all.join_all().await
    };
    let breaking = async {
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            line.cut().await;
            line.mend();
            let mut connection = client.connection();
            let _ = connection
                .wait_for(|c| matches!(c, Connection::Connected { .. }))
                .await;
        }
    };
    let (outcomes, ()) = tokio::time::timeout(Duration::from_secs(60), async {
        tokio::join!(asking, breaking)
    })
    .await
    .expect("all end");
    for (n, outcome) in outcomes {
        let outcome = outcome.expect("an outcome");
        assert_eq!(outcome.text, n.to_string());
        let task = client.task(&outcome.task_id, 0).await.expect("it is kept");
        assert_eq!(task.history.len(), 2, "{n}");
    }
}

#[tokio::test]
async fn the_view_of_the_agents_does_not_flicker_while_the_line_is_away() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let agent = |name: &str| {
        let handler = async |_: TaskContext| Ok(());
        Agent::worker(card(name))
            .on_task_type("work", handler)
            .start(hub.url())
    };
    let _stays = agent("stays").await.expect("it starts");
    let leaves = agent("leaves").await.expect("it starts");
    let client = Client::builder(line.url())
        .watch_agents(true)
        .connect()
        .await;
    let client = client.expect("the hub is there");
    let directory = client.directory();
    let mut changed = directory.changed();
    soon(changed.wait_for(|_| directory.present().len() == 2))
        .await
        .expect("it is alive");

    line.cut().await;
    assert_eq!(directory.present().len(), 2);
    leaves.stop().await;
    hub.client()
        .await
        .operator()
        .unregister("leaves", "test")
        .await
        .expect("it is removed");
    line.mend();
    soon(changed.wait_for(|_| {
        let stays = directory.get("stays").is_some_and(|e| e.online);
        assert!(stays, "it never left");
        directory.get("leaves").is_none()
    }))
    .await
    .expect("it is alive");
}

#[tokio::test]
async fn a_handler_may_take_longer_than_the_ack_deadline() {
    let hub = Hub::start_with(Settings {
        ack_deadline: Duration::from_millis(200),
        max_attempts: 2,
        ..Settings::default()
    })
    .await;
    let calls = Arc::new(AtomicUsize::new(0));
    let called = calls.clone();
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", move |task: TaskContext| {
            called.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::time::sleep(Duration::from_millis(900)).await;
                Ok(task.attempt().to_string())
            }
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let outcome = soon(hub.client().await.ask("a", "go"))
        .await
        .expect("an outcome");
    assert_eq!(
        (outcome.text.as_str(), calls.load(Ordering::SeqCst)),
        ("1", 1)
    );
}

#[tokio::test]
async fn a_hub_that_is_away_is_waited_for_but_not_past_the_deadline() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let client = connect(&line.url()).await;
    line.cut().await;
    let delegation = Delegation::to("a")
        .text("go")
        .timeout(Duration::from_millis(100));
    let late = soon(client.delegate(delegation)).await;
    assert!(matches!(late, Err(Error::Timeout(_))), "{late:?}");
    let asked = client.delegate(Delegation::to("nobody").text("go"));
    line.mend();
    assert!(soon(asked).await.is_ok());
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_hub_that_is_away() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let gate = Arc::new(Semaphore::new(0));
    let (began, mut begun) = mpsc::channel(8);
    let held = gate.clone();
    let agent = Agent::worker(card("a"))
        .drain_timeout(Duration::from_millis(100))
        .on_task_type("work", move |_: TaskContext| {
            let (gate, began) = (held.clone(), began.clone());
            async move {
                began.send(()).await?;
                gate.acquire().await?.forget();
                Ok("nobody hears this")
            }
        })
        .start(line.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    soon(begun.recv()).await;
    line.cut().await;
    gate.add_permits(1);
    soon(agent.stop()).await;
    soon(pending.cancel("enough"))
        .await
        .expect("it is cancelled");
}

#[tokio::test]
async fn stopping_ends_although_the_hub_is_away_and_everything_is_full() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let gate = Arc::new(Semaphore::new(0));
    let (began, mut begun) = mpsc::channel(8);
    let held = gate.clone();
    let agent = Agent::worker(card("a"))
        .drain_timeout(Duration::from_millis(100))
        .on_task_type("work", move |_: TaskContext| {
            let (gate, began) = (held.clone(), began.clone());
            async move {
                began.send(()).await?;
                gate.acquire().await?.forget();
                Ok(Reply::none())
            }
        })
        .start(line.url())
        .await
        .expect("it starts");
    // It is not in the log, so its handler ends without a word to the hub; only the next delivery is to be asked for.
    let routing = AgentEventMetadata {
        to_agent_id: "a".into(),
        durability: Durability::Memory.into(),
        ..Default::default()
    };
    let message = || Message::new(Role::User, "go").with_metadata("task_type", "work");
    let user = hub.client().await;
    let published = user.publish(message(), routing.clone()).await;
    published.expect("it is taken");
    soon(begun.recv()).await;

    let mut connection = agent.client().connection();
    line.cut().await;
    soon(connection.wait_for(|c| matches!(c, Connection::Reconnecting { .. })))
        .await
        .expect("it is alive");
    // More than the connection takes.
    let mut full = tokio::task::JoinSet::new();
    for _ in 0..2000 {
        let (client, message, routing) = (agent.client().clone(), message(), routing.clone());
        full.spawn(async move { client.publish(message, routing).await });
    }
    let turns = async |n: usize| {
        for _ in 0..n {
            tokio::task::yield_now().await;
        }
    };
    turns(100).await;
    gate.add_permits(1);
    // The dispatcher comes to ask for the next delivery.
    turns(100).await;
    soon(agent.stop()).await;
}
