//! The hub's service as it meets requests: `Connect` sends frames whose events are encoded already; all other calls are as generated.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use agenthub_proto::agenthub::{AgentFrame, agent_hub_server::AgentHubServer};
use futures_util::future::BoxFuture;
use tonic::{
    Request, Response, Status, Streaming,
    body::Body,
    codegen::{Service, http},
    server::{Grpc, NamedService, StreamingService},
};
use tonic_prost::ProstCodec;

use super::{
    connect::{self, FrameStream},
    frames::SealedFrame,
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
        let (service, request_bytes) = (self.service.clone(), self.request_bytes);
        Box::pin(async move {
            let codec = ProstCodec::<SealedFrame, AgentFrame>::default();
            let mut grpc = Grpc::new(codec)
                .apply_max_message_size_config(Some(request_bytes), Some(usize::MAX));
            Ok(grpc.streaming(Connect(service), request).await)
        })
    }
}

struct Connect(HubService);

impl StreamingService<AgentFrame> for Connect {
    type Response = SealedFrame;
    type ResponseStream = FrameStream;
    type Future = BoxFuture<'static, Result<Response<FrameStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<AgentFrame>>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move {
            let frames = connect::start(service.hub(), caller(), request.into_inner());
            frames.await.map(Response::new)
        })
    }
}
