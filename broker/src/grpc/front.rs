//! The hub's service as it meets requests: `Connect` sends frames whose events are encoded already; all other calls are as generated.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use agenthub_proto::agenthub::agent_hub_server::AgentHubServer;
use futures_util::future::BoxFuture;
use tonic::{
    Status, Streaming,
    body::Body,
    codec::Codec as _,
    codegen::{Service, http},
    server::NamedService,
};
use tonic_prost::ProstCodec;

use super::{
    connect,
    publishes::RawFrame,
    service::{HubService, caller},
};
use crate::hub::Hub;

const CONNECT: &str = "/agenthub.AgentHub/Connect";

/// See the module's description.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    service: HubService,
    generated: AgentHubServer<HubService>,
    request_bytes: usize,
}

impl Front {
    /// The service of a hub, for requests of so many bytes at most.
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
        if request.uri().path() != CONNECT {
            return self.generated.call(request);
        }
        let (hub, request_bytes) = (self.service.hub().clone(), self.request_bytes);
        Box::pin(async move {
            let answer = connect(&hub, request, request_bytes).await;
            Ok(answer.unwrap_or_else(Status::into_http))
        })
    }
}

/// Serves `Connect`. What the answer consists of are bytes already, so that no codec of tonic is between them and the transport.
async fn connect(
    hub: &Hub,
    request: http::Request<Body>,
    request_bytes: usize,
) -> Result<http::Response<Body>, Status> {
    let encoding = request.headers().get("grpc-encoding");
    if encoding.is_some_and(|encoding| encoding != "identity") {
        return Err(Status::unimplemented(
            "compressed frames are not taken; send them with grpc-encoding `identity`",
        ));
    }
    let decoder = ProstCodec::<RawFrame, RawFrame>::default().decoder();
    let frames = Streaming::new_request(decoder, request.into_body(), None, Some(request_bytes));
    let body = connect::start(hub, caller(), frames).await?;
    let mut response = http::Response::new(Body::new(body));
    let content_type = http::HeaderValue::from_static("application/grpc");
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, content_type);
    Ok(response)
}
