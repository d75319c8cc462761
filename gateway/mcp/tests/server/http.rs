//! Over streamable HTTP, with sessions and without.

use agenthub_mcp::server::DoorSettings;
use agenthub_sdk::TaskContext;
use rmcp::{model::SubscriptionFilter, service::ClientLifecycleMode};
use serde_json::json;

use crate::harness::{Hub, OpenDoor, lifecycles, modern, params, soon, texts};

pub(crate) const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

#[tokio::test]
async fn many_clients_list_call_and_watch_over_http() {
    let hub = Hub::start().await;
    let work = async |task: TaskContext| {
        task.publish_update("at work").await?;
        Ok(format!("did {}", task.text()))
    };
    let _agent = hub.agent("worker", work).await;
    let door = hub.door().await;
    let mut clients = Vec::new();
    for lifecycle in lifecycles() {
        clients.push(door.client(lifecycle).await);
    }
    for client in &mut clients {
        assert_eq!(client.names().await, ["agent_worker"]);
        let result = client.call("agent_worker", json!({"request": "it"})).await;
        assert_eq!(texts(&result.expect("a result")), ["did it"]);
        let mut said = None;
        while said.as_deref() != Some("at work") {
            said = soon(client.progress.recv())
                .await
                .expect("progress")
                .message;
        }
    }
}

#[tokio::test]
async fn clients_of_both_protocols_are_told_of_changes() {
    let hub = Hub::start().await;
    let door = hub.door().await;
    let mut with_session = door.client(ClientLifecycleMode::Initialize).await;
    let without = door.client(modern()).await;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let mut subscription = soon(without.service.listen(filter))
        .await
        .expect("it is taken");
    let _agent = hub.agent("first", async |_: TaskContext| Ok(())).await;
    with_session.sees(&["agent_first"]).await;
    soon(subscription.next()).await.expect("a change");
}

#[tokio::test]
async fn a_session_that_ends_and_a_client_that_goes_away_call_everything_back() {
    let hub = Hub::start().await;
    let (_agent, mut heard) = hub.stubborn().await;
    let door = hub.door().await;
    for lifecycle in lifecycles() {
        let client = door.client(lifecycle).await;
        let peer = client.service.peer().clone();
        let calling = tokio::spawn(async move {
            let call = params("agent_stubborn", json!({"request": "it"}));
            let _ = peer.call_tool_once(call).await;
        });
        assert_eq!(soon(heard.recv()).await.as_deref(), Some("began it"));
        client.leave().await;
        assert_eq!(soon(heard.recv()).await.as_deref(), Some("ended it"));
        soon(calling).await.expect("it ends");
    }
}

/// Nobody's page reaches the hub through somebody's browser.
#[tokio::test]
async fn pages_of_browsers_and_names_that_lead_here_are_refused() {
    let hub = Hub::start().await;
    let door = hub.door().await;
    let own = format!("http://{}", door.address);
    for (header, value, status) in [
        ("Origin", "https://evil.example", 403),
        ("Origin", "http://localhost:1", 403),
        ("Origin", "null", 403),
        ("Origin", &*own, 200),
        ("Host", "evil.example", 403),
        ("Host", "localhost", 200),
        ("X-Nothing", "special", 200),
    ] {
        let answer = door.post(BEGIN).header(header, value).send().await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), status, "{header}: {value}");
    }
    let elsewhere = |settings: &mut DoorSettings| settings.address.set_ip([0, 0, 0, 0].into());
    let open = OpenDoor::to(&hub, elsewhere).await;
    for (header, value, status) in [
        ("Host", "hub.example", 200),
        ("Origin", "https://evil.example", 403),
    ] {
        let answer = open.post(BEGIN).header(header, value).send().await;
        assert_eq!(
            answer.expect("an answer").status(),
            status,
            "{header}: {value}"
        );
    }
}

#[tokio::test]
async fn sessions_end_with_the_server() {
    let hub = Hub::start().await;
    let (_agent, mut heard) = hub.stubborn().await;
    let door = hub.door().await;
    let client = door.client(ClientLifecycleMode::Initialize).await;
    let peer = client.service.peer().clone();
    let calling = tokio::spawn(async move {
        let call = params("agent_stubborn", json!({"request": "it"}));
        let _ = peer.call_tool_once(call).await;
    });
    assert_eq!(soon(heard.recv()).await.as_deref(), Some("began it"));
    soon(door.door.stop()).await;
    assert_eq!(heard.try_recv().as_deref(), Ok("ended it"));
    calling.abort();
}
