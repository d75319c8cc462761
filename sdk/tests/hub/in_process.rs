//! Clients in the process of their hub, without sockets between.

use std::time::Duration;

use agenthub_broker::Settings;
use agenthub_sdk::{
    Agent, Client, Delegation, Error, Message, Part, Role, TaskContext,
    hub::Connection,
    proto::{
        a2a::{TaskState, TaskStatus},
        agenthub::{AgentEventMetadata, SubscribeToTasksRequest, agent_event::Payload},
    },
};
use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use crate::harness::{Hub, card, eventually, soon};

/// Open streams at the hub.
const STREAMS: &str = "agenthub_streams";

fn observed() -> SubscribeToTasksRequest {
    SubscribeToTasksRequest {
        agent_id: "user".to_owned(),
        observe: true,
        ..SubscribeToTasksRequest::default()
    }
}

async fn connect(hub: &Hub) -> Client {
    let client = hub.in_process().agent_id("user").watch_agents(true);
    soon(client.connect()).await.expect("the hub is there")
}

#[tokio::test]
async fn a_client_in_the_process_of_its_hub_has_all_that_others_have() {
    let hub = Hub::start().await;
    let echo =
        Agent::worker(card("echo")).on_task_type("echo", async |task: TaskContext| Ok(task.text()));
    let echo = soon(echo.start(hub.url())).await.expect("it starts");
    let client = connect(&hub).await;
    eventually("the directory has it", async || {
        client.directory().get("echo").is_some()
    })
    .await;
    let mut events = soon(client.task_events(observed()))
        .await
        .expect("a stream");
    let outcome = soon(client.ask("echo", "hi")).await.expect("an outcome");
    assert_eq!(outcome.text, "hi");
    let first = soon(events.next()).await.expect("one").expect("an event");
    let Some(Payload::Task(task)) = first.payload else {
        panic!("a task comes first: {first:?}");
    };
    let known = soon(client.task(&task.id, 0)).await.expect("it is known");
    assert_eq!(known.id, task.id);
    client.close().await;
    echo.stop().await;
    hub.stop().await;
}

/// Nobody is woken for it: it is done when it is first polled, and comes back to who publishes once.
#[tokio::test]
async fn a_message_is_published_in_the_task_of_its_caller() {
    let hub = Hub::start().await;
    let client = connect(&hub).await;
    let routing = || AgentEventMetadata {
        to_agent_id: "reader".to_owned(),
        ..AgentEventMetadata::default()
    };
    let message = Message::new(Role::User, "hi");
    let published = client.publish_call(message.clone(), routing());
    let published = published.now_or_never().expect("it does not wait");
    let published = published.expect("there is room").expect("it is the first");
    assert!(!published.position.is_empty());
    let again = soon(client.publish_call(message.clone(), routing())).await;
    assert_eq!(again, Ok(None), "it is there");
    let other = Message {
        content: vec![Part::text("ho")],
        ..message
    };
    let refused = soon(client.publish_call(other, routing())).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    client.close().await;
    hub.stop().await;
}

/// The hook has what comes back of a task, in order and before the one who waits for it.
#[tokio::test]
async fn a_hook_hears_of_each_reply() {
    let hub = Hub::start().await;
    let echo =
        Agent::worker(card("echo")).on_task_type("echo", async |task: TaskContext| Ok(task.text()));
    let echo = soon(echo.start(hub.url())).await.expect("it starts");
    let (heard, mut replies) = mpsc::channel(16);
    let client = hub.in_process().agent_id("user").on_reply(move |event| {
        let Some(Payload::StatusUpdate(update)) = &event.payload else {
            return;
        };
        let state = update.status.as_ref().map(TaskStatus::state);
        // One that finds no room is missed below.
        let _ = heard.try_send((update.task_id.clone(), state));
    });
    let client = soon(client.connect()).await.expect("the hub is there");
    let pending = soon(client.delegate(Delegation::to("echo").text("hi"))).await;
    let pending = pending.expect("it is taken");
    let task_id = pending.task_id().to_owned();
    soon(pending.outcome()).await.expect("an outcome");
    for state in [TaskState::Working, TaskState::Completed] {
        let reply = replies.try_recv().expect("it came before the outcome");
        assert_eq!(reply, (task_id.clone(), Some(state)));
    }
    client.close().await;
    echo.stop().await;
    hub.stop().await;
}

/// A stream that is dropped ends at the hub, and so does the lifeline of a client that is.
#[tokio::test]
async fn what_a_client_drops_ends_at_its_hub() {
    let hub = Hub::start().await;
    let streams = async |count| {
        eventually("the streams are as many", async || {
            hub.metric(STREAMS).await == Some(count)
        })
        .await;
    };
    let client = connect(&hub).await;
    streams(1).await;
    let events = soon(client.task_events(observed()))
        .await
        .expect("a stream");
    streams(2).await;
    drop(events);
    streams(1).await;
    drop(client);
    streams(0).await;
    hub.stop().await;
}

/// Cancelling a task reaches the handler at work, and a caller that gives up waiting for it changes nothing about that.
#[tokio::test]
async fn a_cancelled_task_stops_its_handler() {
    let hub = Hub::start().await;
    let (began, mut begun) = mpsc::channel(1);
    let (ended, mut endings) = mpsc::channel(1);
    let work = move |task: TaskContext| {
        let (began, ended) = (began.clone(), ended.clone());
        async move {
            began.send(task.task_id().to_owned()).await.expect("a test");
            task.cancelled().await;
            ended.send(()).await.expect("a test");
            Ok(())
        }
    };
    let slow = Agent::worker(card("slow")).on_task_type("slow", work);
    let slow = soon(slow.start(hub.url())).await.expect("it starts");
    let client = connect(&hub).await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.ask("slow", "work").await }
    });
    let task_id = soon(begun.recv()).await.expect("it is at work");
    asking.abort();
    soon(client.cancel_task(&task_id, "enough"))
        .await
        .expect("it is at work");
    soon(endings.recv()).await.expect("the handler heard of it");
    client.close().await;
    slow.stop().await;
    hub.stop().await;
}

/// A stream that is not read holds a bounded part of its events; the hub ends it, and it misses nothing when it is read again.
#[tokio::test]
async fn a_stream_that_is_not_read_is_cut_off_and_misses_nothing() {
    const COUNT: usize = 60;
    let hub = Hub::start_with(Settings {
        stream_stall: Duration::from_millis(200),
        ..Settings::default()
    })
    .await;
    let client = connect(&hub).await;
    let mut events = soon(client.task_events(observed()))
        .await
        .expect("a stream");
    // Whole tasks are events as long as somebody reads them.
    let mut others = soon(client.task_events(observed()))
        .await
        .expect("a stream");
    let reading = tokio::spawn(async move { while others.next().await.is_some() {} });
    let padding = "x".repeat(20_000);
    for n in 0..COUNT {
        let message = Message {
            task_id: format!("task-{n}"),
            ..Message::new(Role::User, format!("{n} {padding}"))
        };
        let routing = AgentEventMetadata {
            to_agent_id: "reader".to_owned(),
            ..AgentEventMetadata::default()
        };
        let published = soon(client.publish(message, routing)).await;
        published.expect("there is room");
    }
    eventually("it is cut off", async || {
        hub.metric("agenthub_streams_cut_off_total").await == Some(1)
    })
    .await;
    let mut next = 0;
    while next < COUNT {
        let event = soon(events.next()).await.expect("it goes on");
        if let Some(Payload::Task(task)) = event.expect("nothing is missed").payload {
            let text = task.history.first().expect("the message").text();
            let (number, _) = text.split_once(' ').expect("a number");
            assert_eq!(number.parse(), Ok(next), "in order, and once");
            next += 1;
        }
    }
    reading.abort();
    client.close().await;
    hub.stop().await;
}

#[tokio::test]
async fn a_hub_that_stops_is_away_for_its_clients_too() {
    let hub = Hub::start().await;
    let client = connect(&hub).await;
    let mut connection = client.connection();
    soon(hub.stop()).await;
    let away = connection.wait_for(|c| matches!(c, Connection::Reconnecting { .. }));
    soon(away).await.expect("it is told");
    let error = soon(client.agent("echo"))
        .await
        .expect_err("nobody is there");
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    soon(client.close()).await;
}
