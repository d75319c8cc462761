//! gRPC (specification §10): `lf.a2a.v1.A2AService`. The tenant says which agent is meant.

use std::pin::Pin;

use agenthub_access::{Caller, Meter, audit::Witness};
use futures_util::{Stream, StreamExt};
use prost::Message;
use tonic::{Request, Response, Status};

use crate::{
    Gateway,
    error::{BAD_REQUEST, ERROR_INFO, Error, Kind, RETRY_INFO},
    operations::{Call, Shows},
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
        a2a_service_server::A2aService,
    },
    version::{EXTENSIONS_HEADER, VERSION_HEADER, Version},
};

/// The service, for the hub's gRPC address.
#[derive(Clone, Debug)]
pub struct Service {
    gateway: Gateway,
}

impl Service {
    pub(crate) fn new(gateway: Gateway) -> Self {
        Self { gateway }
    }
}

/// Reads what is in the metadata of every request.
fn call<T>(request: &Request<T>) -> Result<Call, Status> {
    let metadata = request.metadata();
    let text = |name| metadata.get(name).and_then(|value| value.to_str().ok());
    Version::one(text(VERSION_HEADER)).map_err(status)?;
    let extensions = metadata.get_all(EXTENSIONS_HEADER).iter();
    let extensions = extensions
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|uri| uri.trim().to_owned())
        .filter(|uri| !uri.is_empty());
    Ok(Call {
        slug: None,
        extensions: extensions.collect(),
        traceparent: text("traceparent").unwrap_or_default().to_owned(),
        is_old: false,
        authorization: text("authorization").unwrap_or_default().to_owned(),
        caller: Caller::of_request(request.extensions()),
        witness: Witness::of_request(request.extensions()),
        meter: Meter::of_request(request.extensions()),
    })
}

/// Messages of package `google.rpc` that errors carry.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<FieldViolation>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldViolation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}

/// The error that the details of a status name.
pub(crate) fn kind(status: &Status) -> Option<Kind> {
    let rpc = RpcStatus::decode(status.details()).ok()?;
    let infos = rpc.details.iter().filter(|any| any.type_url == ERROR_INFO);
    let mut infos = infos.filter_map(|any| ErrorInfo::decode(&*any.value).ok());
    infos.find_map(|info| Kind::of_reason(&info.domain, &info.reason))
}

/// An error as gRPC has it (§10.6).
fn status(error: Error) -> Status {
    let mut details = Vec::new();
    let mut add = |type_url: &str, value: Vec<u8>| {
        let type_url = type_url.to_owned();
        details.push(prost_types::Any { type_url, value });
    };
    if !error.field.is_empty() {
        let violation = FieldViolation {
            field: error.field.clone(),
            description: error.message.clone(),
        };
        let request = BadRequest {
            field_violations: vec![violation],
        };
        add(BAD_REQUEST, request.encode_to_vec());
    }
    if !error.kind.reason().is_empty() {
        let info = ErrorInfo {
            reason: error.kind.reason().to_owned(),
            domain: error.kind.domain().to_owned(),
            metadata: error.metadata.clone(),
        };
        add(ERROR_INFO, info.encode_to_vec());
    }
    if let Some(after) = error.retry_after {
        let info = RetryInfo {
            retry_delay: after.try_into().ok(),
        };
        add(RETRY_INFO, info.encode_to_vec());
    }
    let code = error.kind.grpc();
    let rpc = RpcStatus {
        code: code as i32,
        message: error.message.clone(),
        details,
    };
    Status::with_details(code, error.message, rpc.encode_to_vec().into())
}

type Streamed = Pin<Box<dyn Stream<Item = Result<StreamResponse, Status>> + Send>>;

fn streamed(shows: Shows) -> Response<Streamed> {
    Response::new(Box::pin(shows.map(|shown| shown.map_err(status))))
}

#[tonic::async_trait]
impl A2aService for Service {
    type SendStreamingMessageStream = Streamed;
    type SubscribeToTaskStream = Streamed;

    async fn send_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Result<Response<SendMessageResponse>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let answer = operations.send_message(&call, request.into_inner()).await;
        answer.map(Response::new).map_err(status)
    }

    async fn send_streaming_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Result<Response<Streamed>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let shows = operations.send_streaming_message(&call, request.into_inner());
        shows.await.map(streamed).map_err(status)
    }

    async fn get_task(&self, request: Request<GetTaskRequest>) -> Result<Response<Task>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let task = operations.get_task(&call, request.into_inner()).await;
        task.map(Response::new).map_err(status)
    }

    async fn list_tasks(
        &self,
        request: Request<ListTasksRequest>,
    ) -> Result<Response<ListTasksResponse>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let page = operations.list_tasks(&call, request.into_inner()).await;
        page.map(Response::new).map_err(status)
    }

    async fn cancel_task(
        &self,
        request: Request<CancelTaskRequest>,
    ) -> Result<Response<Task>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let task = operations.cancel_task(&call, request.into_inner()).await;
        task.map(Response::new).map_err(status)
    }

    async fn subscribe_to_task(
        &self,
        request: Request<SubscribeToTaskRequest>,
    ) -> Result<Response<Streamed>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let shows = operations.subscribe_to_task(&call, request.into_inner());
        shows.await.map(streamed).map_err(status)
    }

    async fn create_task_push_notification_config(
        &self,
        request: Request<TaskPushNotificationConfig>,
    ) -> Result<Response<TaskPushNotificationConfig>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let answer = operations.create_push_config(&call, request.into_inner());
        answer.await.map(Response::new).map_err(status)
    }

    async fn get_task_push_notification_config(
        &self,
        request: Request<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Response<TaskPushNotificationConfig>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let answer = operations.get_push_config(&call, request.into_inner());
        answer.await.map(Response::new).map_err(status)
    }

    async fn list_task_push_notification_configs(
        &self,
        request: Request<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Response<ListTaskPushNotificationConfigsResponse>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let answer = operations.list_push_configs(&call, request.into_inner());
        answer.await.map(Response::new).map_err(status)
    }

    async fn get_extended_agent_card(
        &self,
        request: Request<GetExtendedAgentCardRequest>,
    ) -> Result<Response<AgentCard>, Status> {
        let call = call(&request)?;
        let card = self.gateway.extended_card(&call, request.into_inner());
        card.await.map(Response::new).map_err(status)
    }

    async fn delete_task_push_notification_config(
        &self,
        request: Request<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Response<()>, Status> {
        let call = call(&request)?;
        let operations = self.gateway.operations();
        let answer = operations.delete_push_config(&call, request.into_inner());
        answer.await.map(Response::new).map_err(status)
    }
}
