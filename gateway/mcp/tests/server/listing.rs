//! Which tools there are, and how clients hear of it.

use std::{sync::Arc, time::Duration};

use agenthub_mcp::server::Settings;
use agenthub_sdk::{Failure, TaskContext};
use rmcp::{
    model::{ErrorCode, SubscriptionFilter},
    service::ServiceError,
};

use crate::harness::{Hub, McpClient, lifecycles, modern, serving, soon};

async fn idle(_: TaskContext) -> Result<(), Failure> {
    Ok(())
}

/// spec: AGT-12
#[tokio::test]
async fn agents_are_tools_under_the_names_that_supervisors_see() {
    let hub = Hub::start().await;
    let _plain = hub.agent("Hello World", idle).await;
    let _prefixed = hub.agent("agent_echo", idle).await;
    let server = Arc::new(hub.served().await);
    for lifecycle in lifecycles() {
        let client = McpClient::piped_as(&server, lifecycle).await;
        assert_eq!(client.names().await, ["agent_echo", "agent_hello-world"]);
        let tools = client.service.list_all_tools().await.expect("a list");
        let hello = &tools[1];
        assert_eq!(hello.title.as_deref(), Some("Hello World"));
        assert!(
            hello
                .description
                .as_ref()
                .is_some_and(|d| d.contains("An agent of a test")),
            "{hello:?}"
        );
        assert_eq!(hello.input_schema["type"], "object");
        client.leave().await;
    }
}

#[tokio::test]
async fn clients_are_told_when_agents_come_and_go() {
    let hub = Hub::start().await;
    let server = Arc::new(hub.served().await);
    let mut client = McpClient::piped(&server).await;
    assert!(client.names().await.is_empty());
    let first = hub.agent("first", idle).await;
    soon(client.changed.recv()).await.expect("a change");
    client.sees(&["agent_first"]).await;
    let _second = hub.agent("second", idle).await;
    soon(client.changed.recv()).await.expect("a change");
    client.sees(&["agent_first", "agent_second"]).await;
    first.stop().await;
    soon(client.changed.recv()).await.expect("a change");
    client.sees(&["agent_second"]).await;
}

#[tokio::test]
async fn clients_of_the_latest_protocol_subscribe_to_changes() {
    let hub = Hub::start().await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped_as(&server, modern()).await;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let mut subscription = soon(client.service.listen(filter))
        .await
        .expect("it is taken");
    let _agent = hub.agent("first", idle).await;
    soon(subscription.next()).await.expect("a change");
    assert_eq!(client.names().await, ["agent_first"]);
}

#[tokio::test]
async fn a_call_waits_for_a_hub_that_is_about_to_come() {
    let hub = Hub::start_at(([127, 0, 0, 85], 0).into()).await;
    let address = hub.address();
    hub.stop().await;
    let server = Arc::new(serving(Settings::new(format!("http://{address}"))).await);
    let client = McpClient::piped(&server).await;
    let coming = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Hub::start_at(address).await
    };
    let call = client.call("agent_first", serde_json::json!({"request": "go"}));
    let (called, _hub) = tokio::join!(call, coming);
    let Err(ServiceError::McpError(error)) = called else {
        panic!("{called:?}");
    };
    assert!(
        error.message.contains("no agent is here"),
        "the hub says so: {}",
        error.message
    );
}

#[tokio::test]
async fn without_a_hub_the_list_says_where_it_is_missed_and_comes_with_it() {
    // An address that no hub of another test gets while nobody has it.
    let hub = Hub::start_at(([127, 0, 0, 84], 0).into()).await;
    let address = hub.address();
    hub.stop().await;
    let server = Arc::new(serving(Settings::new(format!("http://{address}"))).await);
    let mut client = McpClient::piped(&server).await;
    let refused = soon(client.service.list_all_tools()).await;
    let Err(ServiceError::McpError(error)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
    for part in [&*address.to_string(), "agenthub up"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let called = client.call("agent_first", serde_json::json!({"request": "go"}));
    let called = called.await.expect("a result that the model reads");
    assert_eq!(called.is_error, Some(true));

    let hub = Hub::start_at(address).await;
    soon(client.changed.recv()).await.expect("the hub is there");
    let _agent = hub.agent("first", idle).await;
    client.sees(&["agent_first"]).await;

    // It comes back after a restart as well, with the agents that come back to it.
    hub.stop().await;
    let _hub = Hub::start_at(address).await;
    client.changed.try_recv().ok();
    client.sees(&["agent_first"]).await;
    let called = client.call("agent_first", serde_json::json!({"request": "go"}));
    assert_eq!(called.await.expect("a result").is_error, Some(false));
}
