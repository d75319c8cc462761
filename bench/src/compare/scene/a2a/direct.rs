//! The same agent without a hub: the least that a server of A2A does for a message.

use std::net::{Ipv4Addr, SocketAddr};

use agenthub_a2a::v1::{
    Artifact, Message, SendMessageRequest, SendMessageResponse, Task, TaskState, TaskStatus,
    send_message_response::Payload,
};
use axum::{Json, Router, routing::post};
use futures_util::future::{Ready, ready};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tonic::{
    Request, Response, Status,
    server::UnaryService,
    transport::{Server, server::TcpIncoming},
};
use tonic_prost::ProstCodec;

use super::binding::{Address, text_part};

/// The server. It ends on drop.
#[derive(Debug)]
pub(super) struct Direct {
    pub(super) address: Address,
    _servers: JoinSet<()>,
}

impl Direct {
    /// Serves an agent that answers each message with this text.
    ///
    /// # Errors
    ///
    /// There is no free port.
    pub(super) async fn start(text: String) -> anyhow::Result<Self> {
        let (http, grpc) = (listener().await?, listener().await?);
        let address = Address {
            grpc: grpc.local_addr()?,
            http: http.local_addr()?,
            path: String::new(),
            tenant: "",
        };
        let mut servers = JoinSet::new();
        let routes = over_http(text.clone());
        servers.spawn(async move {
            // It ends with its task.
            let _ = axum::serve(http, routes).await;
        });
        let routes = tonic::service::Routes::from(over_grpc(text));
        servers.spawn(async move {
            // As its parts are written one by one, an answer would wait for the acknowledgement of the first.
            let incoming = TcpIncoming::from(grpc).with_nodelay(Some(true));
            let _ = Server::builder()
                .add_routes(routes)
                .serve_with_incoming(incoming)
                .await;
        });
        Ok(Self {
            address,
            _servers: servers,
        })
    }
}

async fn listener() -> anyhow::Result<TcpListener> {
    Ok(TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?)
}

fn over_http(text: String) -> Router {
    let for_rpc = text.clone();
    let rpc = move |Json(request): Json<Value>| async move {
        let task = task_json(&request["params"]["message"], &for_rpc);
        Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}}))
    };
    let rest = move |Json(request): Json<Value>| async move {
        Json(json!({"task": task_json(&request["message"], &text)}))
    };
    Router::new()
        .route("/", post(rpc))
        .route("/message:send", post(rest))
}

fn over_grpc(text: String) -> Router {
    let answer = move |request: axum::extract::Request| {
        let service = Answering(text.clone());
        async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::default());
            grpc.unary(service, request).await
        }
    };
    Router::new().route("/lf.a2a.v1.A2AService/SendMessage", post(answer))
}

/// Answers with a completed task.
struct Answering(String);

impl UnaryService<SendMessageRequest> for Answering {
    type Response = SendMessageResponse;
    type Future = Ready<Result<Response<SendMessageResponse>, Status>>;

    fn call(&mut self, request: Request<SendMessageRequest>) -> Self::Future {
        let message = request.into_inner().message.unwrap_or_default();
        let payload = Some(Payload::Task(task(message, &self.0)));
        ready(Ok(Response::new(SendMessageResponse { payload })))
    }
}

fn task(message: Message, text: &str) -> Task {
    Task {
        id: message.message_id.clone(),
        context_id: message.message_id.clone(),
        status: Some(TaskStatus {
            state: TaskState::Completed.into(),
            timestamp: Some(std::time::SystemTime::now().into()),
            ..Default::default()
        }),
        artifacts: vec![Artifact {
            artifact_id: "result".to_owned(),
            parts: vec![text_part(text)],
            ..Default::default()
        }],
        history: vec![message],
        ..Default::default()
    }
}

fn task_json(message: &Value, text: &str) -> Value {
    json!({
        "id": message["messageId"],
        "contextId": message["messageId"],
        "status": {
            "state": "TASK_STATE_COMPLETED",
            "timestamp": jiff::Timestamp::now().to_string(),
        },
        "artifacts": [{"artifactId": "result", "parts": [{"text": text}]}],
        "history": [message],
    })
}
