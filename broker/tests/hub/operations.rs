//! Operations: health, reflection, HTTP, and shutdown.

use std::time::{Duration, Instant};

use agenthub_broker::{Settings, http_router};
use axum::Router;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_stream::StreamExt;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use crate::{
    harness::{Client, TestHub, card, routing, user, within},
    peer::{agent, hello},
};
use agenthub_proto::agenthub::RegisterAgentRequest;

/// Serves a router on a free port while the set lives.
async fn serve(router: Router, tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tasks.spawn(async move {
        axum::serve(listener, router).await.expect("it serves");
    });
    format!("http://{address}")
}

/// A gauge of the hub's metrics.
pub(crate) async fn gauge(router: Router, name: &str) -> Option<u64> {
    let mut tasks = JoinSet::new();
    let base = serve(router, &mut tasks).await;
    let text = reqwest::get(format!("{base}/metrics")).await.ok()?;
    let text = text.text().await.ok()?;
    let line = text.lines().find(|l| l.starts_with(&format!("{name} ")))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[tokio::test]
async fn http_tells_health_readiness_and_metrics() {
    let hub = TestHub::start().await;
    let mut tasks = JoinSet::new();
    let base = serve(http_router(hub.server.hub().clone()), &mut tasks).await;
    let get = async |path: &str| {
        let answer = within(reqwest::get(format!("{base}{path}")))
            .await
            .expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.text().await.expect("text"))
    };
    hub.register(card("echo"), &[]).await;
    let mut stream = hub.messages("echo").await;
    hub.publish(user("hi"), routing("asker", "echo")).await;
    stream.text().await;
    assert_eq!(get("/health").await, (200, "ok\n".to_owned()));
    let json = reqwest::Client::new()
        .get(format!("{base}/health"))
        .header("accept", "application/json");
    let health = within(json.send()).await.expect("an answer").text().await;
    let health: serde_json::Value = serde_json::from_str(&health.expect("text")).expect("JSON");
    assert_eq!(health["status"], "healthy");
    assert_eq!(get("/ready").await, (200, "ready\n".to_owned()));
    let (status, text) = get("/metrics").await;
    assert_eq!(status, 200);
    for line in [
        "agenthub_agents 1",
        "agenthub_streams 1",
        "agenthub_events_total 1",
        "agenthub_deliveries_total 1",
        "agenthub_log_accepts 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    // Who does not accept OpenMetrics gets the text of Prometheus, where a counter is described by its whole name.
    assert!(
        text.contains("\n# TYPE agenthub_events_total counter\n"),
        "{text}"
    );
    assert!(!text.contains("# EOF"), "{text}");
    let open_metrics = reqwest::Client::new()
        .get(format!("{base}/metrics"))
        .header("accept", "application/openmetrics-text; version=1.0.0");
    let answer = within(open_metrics.send()).await.expect("an answer");
    let content_type = answer.headers()["content-type"].to_str().expect("text");
    assert!(content_type.starts_with("application/openmetrics-text"));
    let text = answer.text().await.expect("text");
    assert!(
        text.contains("\n# TYPE agenthub_events counter\n"),
        "{text}"
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
    hub.server.hub().drain();
    assert_eq!(get("/health").await.0, 200);
    assert_eq!(get("/ready").await.0, 503);
}

#[tokio::test]
async fn reflection_lists_the_services() {
    let hub = TestHub::start().await;
    let channel =
        tonic::transport::Channel::from_shared(format!("http://{}", hub.server.address()))
            .expect("a URL")
            .connect()
            .await
            .expect("it listens");
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answer = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::once(request))
        .await;
    let mut answers = answer.expect("served").into_inner();
    let answer = within(answers.next()).await.expect("one").expect("good");
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("not a list: {answer:?}");
    };
    let names: Vec<String> = list.service.into_iter().map(|s| s.name).collect();
    // Described services that are not served here are not among them.
    assert_eq!(
        names,
        [
            "agenthub.AgentHub",
            "agenthub.Access",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection"
        ]
    );
}

async fn health(hub: &TestHub) -> HealthClient<tonic::transport::Channel> {
    let channel =
        tonic::transport::Channel::from_shared(format!("http://{}", hub.server.address()))
            .expect("a URL")
            .connect()
            .await
            .expect("it listens");
    HealthClient::new(channel)
}

#[tokio::test]
async fn a_drain_is_announced_and_bounded() {
    let hub = TestHub::with(Settings {
        drain: Duration::from_secs(5),
        ..Settings::default()
    })
    .await;
    let mut health = health(&hub).await;
    let request = |service: &str| HealthCheckRequest {
        service: service.to_owned(),
    };
    let mut watch = health
        .watch(request("agenthub.AgentHub"))
        .await
        .expect("served")
        .into_inner();
    let status = within(watch.next()).await.expect("one").expect("good");
    assert_eq!(status.status(), ServingStatus::Serving);
    let overall = health.check(request("")).await.expect("served");
    assert_eq!(overall.into_inner().status(), ServingStatus::Serving);

    let mut stream = hub.messages("older").await;
    let mut peer = hub.connect(agent("echo", "i", 9)).await;
    let _idle = hub.another_client().await;
    let start = Instant::now();
    let TestHub { server, client } = hub;
    let left = tokio::spawn(server.shutdown());
    let status = within(watch.next()).await.expect("one").expect("good");
    assert_eq!(status.status(), ServingStatus::NotServing);
    drop(watch);
    drop(health);

    let ended = stream.end().await.expect("it ends with a status");
    assert_eq!(ended.code(), tonic::Code::Unavailable, "{ended:?}");
    assert!(peer.until_ended().await.is_ok());
    let goodbye = peer.goodbye.take().expect("said");
    assert!(goodbye.reconnect, "{goodbye:?}");
    within(left).await.expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(5), "within the bound");
    drop::<Client>(client);
}

/// A draining hub refuses streams with a retryable error.
#[tokio::test]
async fn a_draining_hub_refuses_streams() {
    let hub = TestHub::start().await;
    hub.server.hub().drain();
    let request = agenthub_proto::agenthub::SubscribeToMessagesRequest {
        agent_id: "late".into(),
        ..Default::default()
    };
    let refused = within(hub.client.clone().subscribe_to_messages(request)).await;
    assert_eq!(
        refused.expect_err("refused").code(),
        tonic::Code::Unavailable
    );
    let first = agenthub_proto::agenthub::AgentFrame {
        hello: Some(hello("late", "i", vec![])),
        ..Default::default()
    };
    let refused = crate::peer::try_connect(&hub.client, first).await;
    assert_eq!(
        refused.err().expect("refused").code(),
        tonic::Code::Unavailable
    );
}

/// A client that never reads does not delay the shutdown, nor an agent that never answers its probe.
#[tokio::test]
async fn nobody_holds_up_the_end() {
    let hub = TestHub::with(Settings {
        drain: Duration::from_millis(300),
        probe_interval: Duration::from_millis(20),
        ..Settings::default()
    })
    .await;
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let request = RegisterAgentRequest {
        agent_card: Some(card("silent")),
        health_check_url: format!("http://{}/", silent.local_addr().expect("bound")),
        ..Default::default()
    };
    hub.client
        .clone()
        .register_agent(request)
        .await
        .expect("registered");
    let _connection = within(silent.accept()).await.expect("it is probed");
    let _unread = hub.messages("unread").await;
    for n in 0..100 {
        let text = format!("{n} {}", "x".repeat(20_000));
        hub.publish(user(&text), routing("asker", "unread")).await;
    }
    let start = Instant::now();
    within(hub.server.shutdown()).await;
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "it took {:?}",
        start.elapsed()
    );
}
