//! Connecting, and looking around.

use std::time::Duration;

use agenthub_sdk::{
    Agent, Client, Delegation, Error, TaskContext,
    proto::{
        a2a::{Artifact, Part, TaskState, TaskStatus},
        agenthub::{
            AgentEventMetadata, ListAgentsRequest, ListTasksRequest, SubscribeToTasksRequest,
            TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
        },
    },
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpSocket, TcpStream},
};

use crate::harness::{Hub, card, eventually, soon};

#[tokio::test]
async fn nobody_there_is_said_in_one_line() {
    // A port that is taken, and on which nobody listens.
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = "127.0.0.1:0".parse().expect("an address");
    socket.bind(any).expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    let error = soon(Client::builder(format!("http://{address}")).connect()).await;
    let error = error.expect_err("nobody is there");
    assert!(matches!(error, Error::NoHub { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains(&address.to_string()) && text.contains("agenthub up"),
        "{text}"
    );
    assert!(text.contains("refused") && !text.contains('\n'), "{text}");
}

#[tokio::test]
async fn another_server_or_a_silent_one_is_no_hub() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let other = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let error = soon(Client::builder(address.to_string()).connect()).await;
    assert!(
        matches!(error, Err(Error::NoHub { .. } | Error::NotAHub { .. })),
        "{error:?}"
    );
    other.abort();

    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = silent.local_addr().expect("it is bound");
    let builder = Client::builder(address.to_string()).connect_timeout(Duration::from_millis(200));
    let error = soon(builder.connect()).await;
    let Err(error @ Error::Silent { .. }) = error else {
        panic!("it may be busy: {error:?}");
    };
    let text = error.to_string();
    assert!(
        text.contains("200ms") && !text.contains("agenthub up"),
        "{text}"
    );
}

#[tokio::test]
async fn peers_may_bring_their_own_connections() {
    let hub = Hub::start().await;
    let address = hub.address();
    let tunnel = move |name: String| async move {
        assert_eq!(name, "far-away:7");
        TcpStream::connect(address).await
    };
    let echo = Agent::worker(card("echo"))
        .on_task_type("echo", async |task: TaskContext| Ok(task.text()))
        .connector(tunnel);
    let echo = soon(echo.start("far-away:7")).await.expect("connected");
    let builder = Client::builder("http://far-away:7").connector(tunnel);
    let client = soon(builder.connect()).await.expect("connected");
    let outcome = soon(client.ask("echo", "hi")).await.expect("an outcome");
    assert_eq!(outcome.text, "hi");
    client.close().await;
    echo.stop().await;
    hub.stop().await;

    let lost = |_| async { Err::<TcpStream, _>(std::io::Error::other("the tunnel is flooded")) };
    let error = soon(Client::builder("far-away:7").connector(lost).connect()).await;
    let error = error.expect_err("nobody is there").to_string();
    assert!(error.contains("the tunnel is flooded"), "{error}");
}

#[tokio::test]
async fn a_peer_that_the_hub_does_not_want_learns_why() {
    let hub = Hub::start().await;
    let error = Client::builder(hub.url())
        .agent_id("x".repeat(500))
        .connect()
        .await;
    assert!(matches!(error, Err(Error::Refused(_))), "{error:?}");
    let nameless = Agent::worker(card("")).on_any(async |_: TaskContext| Ok(()));
    assert!(matches!(
        nameless.start(hub.url()).await,
        Err(Error::Invalid(_))
    ));
    let idle = Agent::worker(card("a")).start(hub.url()).await;
    assert!(matches!(idle, Err(Error::Invalid(_))));
}

/// spec: HUB-4, HUB-8
#[tokio::test]
async fn the_directory_follows_the_agents() {
    let hub = Hub::start().await;
    let agent = |name: &str| {
        let handler = async |_: TaskContext| Ok(());
        Agent::worker(card(name))
            .on_task_type("work", handler)
            .start(hub.url())
    };
    let _early = agent("early").await.expect("it starts");
    let client = Client::builder(hub.url())
        .watch_agents(true)
        .connect()
        .await;
    let client = client.expect("the hub is there");
    let directory = client.directory();
    let present = || {
        let cards = directory.present();
        cards.iter().map(|c| c.name.clone()).collect::<Vec<_>>()
    };
    let mut changed = directory.changed();
    soon(changed.wait_for(|_| present() == ["early"]))
        .await
        .expect("it is alive");

    let late = agent("late").await.expect("it starts");
    soon(changed.wait_for(|_| present() == ["early", "late"]))
        .await
        .expect("it is alive");
    late.stop().await;
    soon(changed.wait_for(|_| present() == ["early"]))
        .await
        .expect("it is alive");
    assert!(directory.get("late").is_some_and(|e| !e.online));
    let all = directory.all().into_iter();
    let all: Vec<(String, bool)> = all.map(|e| (e.card.name.clone(), e.online)).collect();
    assert_eq!(all, [("early".into(), true), ("late".into(), false)]);

    client
        .operator()
        .unregister("late", "test")
        .await
        .expect("it is removed");
    soon(changed.wait_for(|_| directory.get("late").is_none()))
        .await
        .expect("it is alive");
    let listed = client
        .agents(ListAgentsRequest::default())
        .await
        .expect("a list");
    assert_eq!(listed.agents.len(), 1);
    assert!(matches!(
        client.agent("late").await,
        Err(Error::NotFound(_))
    ));
}

#[tokio::test]
async fn tasks_can_be_listed_and_watched() {
    let hub = Hub::start().await;
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", async |_: TaskContext| Ok("done"))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let watch = SubscribeToTasksRequest {
        agent_id: "watcher".into(),
        observe: true,
        ..Default::default()
    };
    let mut events = client.task_events(watch).await.expect("a stream");
    let outcome = soon(client.ask("a", "go")).await.expect("an outcome");
    loop {
        let event = soon(events.next()).await.expect("more").expect("no break");
        if event.task_state().is_some_and(|s| s.is_terminal()) {
            assert_eq!(event.task_id(), outcome.task_id);
            break;
        }
    }
    let request = ListTasksRequest {
        agent_id: "a".into(),
        ..Default::default()
    };
    let tasks = client.tasks(request).await.expect("a list").tasks;
    assert_eq!(tasks.len(), 1);
    assert!(matches!(
        client.task("nonsense", 0).await,
        Err(Error::NotFound(_))
    ));
}

#[tokio::test]
async fn dropping_a_client_frees_the_hub_of_it() {
    let hub = Hub::start().await;
    let agent = Agent::worker(card("a"))
        .on_task_type("work", async |_: TaskContext| Ok(()))
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    drop(agent);
    eventually("the agent is gone", || async {
        let entry = client.agent("a").await;
        entry.is_ok_and(|e| e.instances.is_empty())
    })
    .await;
}

#[tokio::test]
async fn listings_of_many_pages_come_whole() {
    let hub = Hub::start().await;
    let mut agents = Vec::new();
    for name in ["a", "b", "c"] {
        let agent = Agent::worker(card(name))
            .on_task_type("work", async |_: TaskContext| Ok(()))
            .start(hub.url());
        agents.push(agent.await.expect("it starts"));
    }
    let client = hub.client().await;
    let request = ListAgentsRequest {
        page_size: 1,
        ..Default::default()
    };
    let listed = client.all_agents(request).await.expect("a list");
    let ids: Vec<&str> = listed.iter().map(|a| &*a.agent_id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    let own = agents[0].client().instance_id();
    assert_eq!(listed[0].instances[0].instance_id, own);

    let mut asked = Vec::new();
    for n in 0..5 {
        let outcome = soon(client.ask("a", n.to_string())).await;
        asked.push(outcome.expect("an outcome").task_id);
    }
    let request = ListTasksRequest {
        agent_id: "a".into(),
        page_size: 2,
        ..Default::default()
    };
    let tasks = client.all_tasks(request).await.expect("a list");
    let ids: Vec<String> = tasks.into_iter().rev().map(|t| t.id).collect();
    assert_eq!(ids, asked, "the latest change comes first");
}

/// spec: HUB-7
#[tokio::test]
async fn a_client_can_report_on_a_task_without_being_an_agent() {
    let hub = Hub::start().await;
    let worker = Client::builder(hub.url()).agent_id("worker").connect();
    let worker = worker.await.expect("the hub is there");
    let user = hub.client().await;
    let delegation = Delegation::to("worker").text("go").context_id("c");
    let pending = user.delegate(delegation).await.expect("it is taken");
    let task_id = pending.task_id().to_owned();

    let artifact = TaskArtifactUpdateEvent {
        task_id: task_id.clone(),
        context_id: "c".into(),
        artifact: Some(Artifact {
            artifact_id: "r".into(),
            parts: vec![Part::text("the result")],
            ..Default::default()
        }),
        last_chunk: true,
        ..Default::default()
    };
    let routing = AgentEventMetadata::default;
    let published = worker.publish_artifact(artifact, routing()).await;
    published.expect("it is taken");
    let done = TaskStatusUpdateEvent {
        task_id,
        context_id: "c".into(),
        status: Some(TaskStatus {
            state: TaskState::Completed.into(),
            ..Default::default()
        }),
        r#final: true,
        ..Default::default()
    };
    let published = worker.publish_status(done, routing()).await;
    published.expect("it is taken");
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!((&*outcome.text, &*outcome.agent), ("the result", "worker"));
}
