//! Clients of the three bindings that send a message and wait for its task.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use agenthub_a2a::{
    VERSION_HEADER,
    v1::{
        Message, Part, Role, SendMessageRequest, SendMessageResponse, TaskState,
        a2a_service_client::A2aServiceClient, part::Content, send_message_response::Payload,
    },
};
use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tonic::transport::{Channel, Endpoint};

/// A protocol binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Grpc,
    JsonRpc,
    HttpJson,
}

impl Binding {
    pub(super) const ALL: [Self; 3] = [Self::Grpc, Self::JsonRpc, Self::HttpJson];
}

/// Addresses of an agent.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) grpc: SocketAddr,
    pub(super) http: SocketAddr,
    /// Path of the agent, such as `/agents/bench`; empty for a direct call.
    pub(super) path: String,
    /// Tenant of the agent; empty for a direct call.
    pub(super) tenant: &'static str,
}

/// A client of an agent. Clones share its connections.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    transport: Transport,
    address: Address,
    text: Arc<str>,
    calls: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
enum Transport {
    Grpc(A2aServiceClient<Channel>),
    JsonRpc(reqwest::Client),
    HttpJson(reqwest::Client),
}

impl Caller {
    /// # Errors
    ///
    /// The agent's gRPC address cannot be reached.
    pub(super) async fn connect(
        binding: Binding,
        address: &Address,
        text: String,
    ) -> anyhow::Result<Self> {
        let transport = match binding {
            Binding::Grpc => {
                let endpoint = Endpoint::from_shared(format!("http://{}", address.grpc))?;
                let channel = endpoint.tcp_nodelay(true).connect().await?;
                Transport::Grpc(A2aServiceClient::new(channel))
            }
            Binding::JsonRpc => Transport::JsonRpc(reqwest::Client::builder().build()?),
            Binding::HttpJson => Transport::HttpJson(reqwest::Client::builder().build()?),
        };
        Ok(Self {
            transport,
            address: address.clone(),
            text: text.into(),
            calls: Arc::default(),
        })
    }

    /// Sends a message, and waits until its task is completed.
    ///
    /// # Errors
    ///
    /// It is refused, or its task is not completed.
    pub(super) async fn call(&self) -> anyhow::Result<()> {
        let id = format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        match &self.transport {
            Transport::Grpc(client) => {
                let request = tonic::Request::from_parts(
                    version_metadata(),
                    tonic::Extensions::new(),
                    self.request(id),
                );
                let answer = client.clone().send_message(request).await?;
                completed(answer.into_inner())
            }
            Transport::JsonRpc(client) => {
                let message = json!({
                    "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
                    "params": {"message": message_json(&id, &self.text)},
                });
                let answer = self.post(client, "", &message).await?;
                is_completed(&answer["result"]["task"]).with_context(|| answer.to_string())
            }
            Transport::HttpJson(client) => {
                let message = json!({"message": message_json(&id, &self.text)});
                let answer = self.post(client, "/message:send", &message).await?;
                is_completed(&answer["task"]).with_context(|| answer.to_string())
            }
        }
    }

    /// Opens a stream of a message's task over HTTP+JSON.
    ///
    /// # Errors
    ///
    /// It is refused.
    pub(super) async fn stream(&self) -> anyhow::Result<reqwest::Response> {
        let Transport::HttpJson(client) = &self.transport else {
            bail!("streams are measured over HTTP+JSON");
        };
        let id = format!("stream-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let message = json!({"message": message_json(&id, &self.text)});
        let answer = self.send(client, "/message:stream", &message).await?;
        Ok(answer.error_for_status()?)
    }

    async fn post(
        &self,
        client: &reqwest::Client,
        operation: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let answer = self.send(client, operation, body).await?.bytes().await?;
        Ok(serde_json::from_slice(&answer)?)
    }

    async fn send(
        &self,
        client: &reqwest::Client,
        operation: &str,
        body: &Value,
    ) -> anyhow::Result<reqwest::Response> {
        let Address { http, path, .. } = &self.address;
        let request = client
            .post(format!("http://{http}{path}{operation}"))
            .header("content-type", "application/json")
            .header(VERSION_HEADER, "1.0")
            .body(body.to_string());
        Ok(request.send().await?)
    }

    fn request(&self, message_id: String) -> SendMessageRequest {
        SendMessageRequest {
            tenant: self.address.tenant.to_owned(),
            message: Some(Message {
                message_id,
                role: Role::User.into(),
                parts: vec![text_part(&self.text)],
                ..Default::default()
            }),
            ..Default::default()
        }
    }
}

/// A part with this text.
pub(super) fn text_part(text: &str) -> Part {
    Part {
        content: Some(Content::Text(text.to_owned())),
        ..Default::default()
    }
}

fn message_json(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]})
}

fn version_metadata() -> tonic::metadata::MetadataMap {
    let mut metadata = tonic::metadata::MetadataMap::new();
    let version = tonic::metadata::MetadataValue::from_static("1.0");
    metadata.insert(VERSION_HEADER, version);
    metadata
}

fn completed(answer: SendMessageResponse) -> anyhow::Result<()> {
    let Some(Payload::Task(task)) = answer.payload else {
        bail!("the answer is no task");
    };
    let state = task.status.map_or(TaskState::Unspecified, |s| s.state());
    ensure!(state == TaskState::Completed, "the task is {state:?}");
    Ok(())
}

fn is_completed(task: &Value) -> anyhow::Result<()> {
    ensure!(
        task["status"]["state"] == "TASK_STATE_COMPLETED",
        "the task is not completed"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_completed_task_is_an_answer() {
        assert!(is_completed(&json!({"status": {"state": "TASK_STATE_COMPLETED"}})).is_ok());
        assert!(is_completed(&json!({"status": {"state": "TASK_STATE_FAILED"}})).is_err());
        assert!(is_completed(&json!({"error": {}})["result"]["task"]).is_err());
        assert!(completed(SendMessageResponse::default()).is_err());
    }
}
