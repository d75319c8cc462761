//! What a client sees of a call that is under way, and how it calls it off.

use std::sync::Arc;

use agenthub_sdk::{
    ArtifactUpdate, TaskContext,
    proto::a2a::{Artifact, Part},
};
use rmcp::model::{CallToolRequest, ClientRequest};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient};
use serde_json::json;
use tokio::sync::mpsc;

use crate::harness::{Hub, McpClient, lifecycles, params, soon, texts};

#[tokio::test]
async fn what_an_agent_shows_is_progress_that_rises() {
    let hub = Hub::start().await;
    let work = async |task: TaskContext| {
        task.publish_update("reading").await?;
        let piece = Artifact {
            parts: vec![Part::text("first lines")],
            ..Default::default()
        };
        task.publish_artifact(ArtifactUpdate::new(piece).in_memory())
            .await?;
        task.publish_update("writing").await?;
        Ok("done")
    };
    let _agent = hub.agent("worker", work).await;
    let server = Arc::new(hub.served().await);
    for lifecycle in lifecycles() {
        let mut client = McpClient::piped_as(&server, lifecycle).await;
        let result = client.call("agent_worker", json!({"request": "go"})).await;
        assert_eq!(texts(&result.expect("a result")), ["done"]);
        let mut messages = Vec::new();
        let mut last = 0.0;
        while messages.last().is_none_or(|last| last != "writing") {
            let progress = soon(client.progress.recv()).await.expect("progress");
            assert!(progress.progress > last, "{progress:?} after {last}");
            last = progress.progress;
            messages.extend(progress.message);
        }
        let of_agent = ["reading", "first lines", "writing"];
        assert!(
            of_agent
                .iter()
                .all(|said| messages.iter().any(|m| m == said)),
            "{messages:?}"
        );
        client.leave().await;
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_called_back_from_its_agent() {
    let hub = Hub::start().await;
    let (_agent, mut heard) = hub.stubborn().await;
    let server = Arc::new(hub.served().await);
    for lifecycle in lifecycles() {
        let client = McpClient::piped_as(&server, lifecycle).await;
        let request = CallToolRequest::new(params("agent_stubborn", json!({"request": "it"})));
        let request = ClientRequest::CallToolRequest(request);
        let options = PeerRequestOptions::no_options();
        let sent = client
            .service
            .send_cancellable_request(request, options)
            .await;
        let sent = sent.expect("it is sent");
        assert_eq!(soon(heard.recv()).await.as_deref(), Some("began it"));
        sent.cancel(Some("not wanted".to_owned()))
            .await
            .expect("it is sent");
        assert_eq!(soon(heard.recv()).await.as_deref(), Some("ended it"));
        client.leave().await;
    }
}

/// A call that its agent has begun and does not end by itself.
async fn begun(
    client: &McpClient,
    heard: &mut mpsc::Receiver<String>,
) -> RequestHandle<RoleClient> {
    let call = params("agent_stubborn", json!({"request": "it"}));
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
    let options = PeerRequestOptions::no_options();
    let sent = client.service.send_cancellable_request(request, options);
    let sent = sent.await.expect("it is sent");
    assert_eq!(soon(heard.recv()).await.as_deref(), Some("began it"));
    sent
}

#[tokio::test]
async fn a_client_that_leaves_calls_everything_back() {
    let hub = Hub::start().await;
    let (_agent, mut heard) = hub.stubborn().await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let _sent = begun(&client, &mut heard).await;
    client.leave().await;
    assert_eq!(soon(heard.recv()).await.as_deref(), Some("ended it"));
}

#[tokio::test]
async fn a_server_that_is_stopped_calls_everything_back_first() {
    let hub = Hub::start().await;
    let (_agent, mut heard) = hub.stubborn().await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let _sent = begun(&client, &mut heard).await;
    let serving = client.serving.expect("it is served");
    soon(server.stop()).await;
    assert_eq!(heard.try_recv().as_deref(), Ok("ended it"));
    soon(serving).await.expect("it ends well");
}

/// The trace that the client is in goes on in the agent.
#[tokio::test]
async fn a_trace_goes_on_in_the_agent() {
    let hub = Hub::start().await;
    let trace = async |task: TaskContext| Ok(task.trace().to_string());
    let _agent = hub.agent("tracer", trace).await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let mut call = params("agent_tracer", json!({"request": "go"}));
    let mut meta = rmcp::model::RequestMetaObject::new();
    meta.set_traceparent("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
    call.meta = Some(meta);
    let result = soon(client.service.call_tool(call))
        .await
        .expect("a result");
    let told = texts(&result).concat();
    assert!(told.contains("0af7651916cd43dd8448eb211c80319c"), "{told}");
}
