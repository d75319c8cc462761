//! Routing of the hub's requests: streams and publishes are raw bytes to the transport; all other calls use the
//! generated service.

use std::{
    convert::Infallible,
    task::{Context, Poll},
    time::Instant,
};

use agenthub_access::{Meter, audit::Witness};
use agenthub_proto::{
    BEGINS_AFTER,
    agenthub::{
        SubscribeToAgentEventsRequest, SubscribeToMessagesRequest, SubscribeToTasksRequest,
        agent_hub_server::{AgentHub, AgentHubServer},
    },
    grpc::Messages,
    socket::in_process::ThisProcess,
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use prost::Message;
use tonic::{
    Extensions, Request, Response, Status,
    body::Body,
    codegen::{Service, http},
    metadata::MetadataMap,
    server::NamedService,
};

use super::{
    connect,
    once::Once,
    request::{Extent, decoded, message, whole},
    service::HubService,
    status::quota_exceeded,
    subscriptions::subscribe,
};
use crate::{
    Caller, Error,
    hub::{Hub, Kind, StreamRequest},
};

/// The service, see the module.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    service: HubService,
    generated: AgentHubServer<HubService>,
    request_bytes: usize,
}

impl Front {
    /// The service of a hub, with a size limit on requests.
    pub(crate) fn new(hub: Hub, request_bytes: usize) -> Self {
        let service = HubService::new(hub);
        Self {
            generated: AgentHubServer::new(service.clone())
                .max_decoding_message_size(request_bytes)
                .max_encoding_message_size(usize::MAX),
            service,
            request_bytes,
        }
    }

    /// Answers a call with encoded bytes, bypassing tonic's codecs.
    fn answer<A, B>(
        &self,
        request: http::Request<Body>,
        call: impl FnOnce(Hub, http::Request<Body>, usize) -> A + Send + 'static,
    ) -> BoxFuture<'static, Result<http::Response<Body>, Infallible>>
    where
        A: Future<Output = Result<B, Status>> + Send,
        B: hyper::body::Body<Data = Bytes, Error = Status> + Send + 'static,
    {
        let (hub, request_bytes) = (self.service.hub().clone(), self.request_bytes);
        Box::pin(async move {
            let answer = call(hub, request, request_bytes).await.map(response);
            Ok(answer.unwrap_or_else(Status::into_http))
        })
    }
}

impl Front {
    /// Answers a subscription.
    fn stream<R>(
        &self,
        request: http::Request<Body>,
    ) -> BoxFuture<'static, Result<http::Response<Body>, Infallible>>
    where
        R: Message + Default + TryInto<StreamRequest, Error = Error> + 'static,
    {
        let (hub, request_bytes) = (self.service.hub().clone(), self.request_bytes);
        Box::pin(async move {
            let answer = subscribe::<R>(hub, request, request_bytes).await;
            let answer = answer.map(|(body, begins_after)| {
                let mut answer = response(body);
                if let Ok(position) = begins_after.parse() {
                    answer.headers_mut().insert(BEGINS_AFTER, position);
                }
                answer
            });
            Ok(answer.unwrap_or_else(Status::into_http))
        })
    }

    /// Answers a publish.
    fn once<R, A, F>(
        &self,
        request: http::Request<Body>,
        call: impl FnOnce(HubService, Request<R>) -> F + Send + 'static,
    ) -> BoxFuture<'static, Result<http::Response<Body>, Infallible>>
    where
        R: Message + Default + 'static,
        A: Message,
        F: Future<Output = Result<Response<A>, Status>> + Send,
    {
        let (service, request_bytes) = (self.service.clone(), self.request_bytes);
        Box::pin(async move {
            let answer = async {
                let headers = trace_headers(request.headers());
                let caller = Caller::of_request(request.extensions());
                let (allowed, refusal) =
                    Meter::of_request(request.extensions()).publish(1, Instant::now());
                if let Some(refusal) = refusal.filter(|_| allowed == 0) {
                    return Err(quota_exceeded(&refusal));
                }
                let message = message(request, request_bytes, Extent::Only).await?;
                let mut message =
                    Request::from_parts(headers, Extensions::new(), decoded(message)?);
                message.extensions_mut().insert(caller);
                let answer = call(service, message).await?;
                Ok(response(Once::new(answer.get_ref())))
            };
            Ok(answer.await.unwrap_or_else(Status::into_http))
        })
    }
}

impl Front {
    /// Passes any other call to the generated service, once its request has arrived.
    fn generated(
        &self,
        request: http::Request<Body>,
    ) -> BoxFuture<'static, Result<http::Response<Body>, Infallible>> {
        let (mut generated, request_bytes) = (self.generated.clone(), self.request_bytes);
        Box::pin(async move {
            match whole(request, request_bytes).await {
                Ok(request) => generated.call(request).await,
                Err(status) => Ok(status.into_http()),
            }
        })
    }
}

/// The trace headers of a call.
fn trace_headers(headers: &http::HeaderMap) -> MetadataMap {
    let mut kept = http::HeaderMap::new();
    for name in ["traceparent", "tracestate"] {
        if let Some(value) = headers.get(name) {
            kept.insert(name, value.clone());
        }
    }
    MetadataMap::from_headers(kept)
}

impl NamedService for Front {
    const NAME: &'static str = <AgentHubServer<HubService> as NamedService>::NAME;
}

impl Service<http::Request<Body>> for Front {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<http::Request<Body>>::poll_ready(&mut self.generated, context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match request.uri().path() {
            "/agenthub.AgentHub/Connect" => self.answer(request, async |hub, request, most| {
                let caller = Caller::of_request(request.extensions());
                let witness = Witness::of_request(request.extensions());
                let meter = Meter::of_request(request.extensions());
                let kind = match request.extensions().get::<ThisProcess>() {
                    Some(_) => Kind::OwnConnect,
                    None => Kind::Connect,
                };
                let messages = Messages::of_request(request, most)?;
                connect::start(&hub, (&caller, kind), (witness, meter), messages).await
            }),
            "/agenthub.AgentHub/SubscribeToMessages" => {
                self.stream::<SubscribeToMessagesRequest>(request)
            }
            "/agenthub.AgentHub/SubscribeToTasks" => {
                self.stream::<SubscribeToTasksRequest>(request)
            }
            "/agenthub.AgentHub/SubscribeToAgentEvents" => {
                self.stream::<SubscribeToAgentEventsRequest>(request)
            }
            "/agenthub.AgentHub/PublishMessage" => self.once(request, async |service, message| {
                service.publish_message(message).await
            }),
            "/agenthub.AgentHub/PublishTaskUpdate" => self
                .once(request, async |service, update| {
                    service.publish_task_update(update).await
                }),
            "/agenthub.AgentHub/PublishTaskArtifact" => self
                .once(request, async |service, artifact| {
                    service.publish_task_artifact(artifact).await
                }),
            _ => self.generated(request),
        }
    }
}

fn response(
    body: impl hyper::body::Body<Data = Bytes, Error = Status> + Send + 'static,
) -> http::Response<Body> {
    let mut response = http::Response::new(Body::new(body));
    let content_type = http::HeaderValue::from_static("application/grpc");
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, content_type);
    response
}
