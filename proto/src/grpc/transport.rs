//! Transports of calls to a hub.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tonic::{
    body::Body,
    codegen::{
        Service, StdError,
        http::{Request, Response},
    },
    transport::Channel,
};

/// Transport of calls to a hub. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A connection over HTTP/2.
    Network(Channel),
    /// The services of a hub in this process.
    InProcess(InProcess),
}

/// Services of a hub in this process. A call runs in the task that polls it, without sockets, HTTP/2 and queues: requests and
/// responses are pulled by their reader, one message at a time. Dropping a call, or the response of a stream, ends it at the hub.
/// Cheap to clone.
#[derive(Clone)]
pub struct InProcess(
    Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync>,
);

impl InProcess {
    /// Calls of this service.
    pub fn new<F>(service: impl Fn(Request<Body>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(service(request))))
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Body>;
    type Error = StdError;
    type Future = BoxFuture<'static, Result<Response<Body>, StdError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        match self {
            Self::Network(channel) => channel.poll_ready(context).map_err(Into::into),
            Self::InProcess(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match self {
            Self::Network(channel) => {
                let answer = channel.call(request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }
            Self::InProcess(InProcess(call)) => {
                let answer = call(request);
                Box::pin(async move { Ok(answer.await) })
            }
        }
    }
}

impl From<Channel> for Transport {
    fn from(channel: Channel) -> Self {
        Self::Network(channel)
    }
}

impl From<InProcess> for Transport {
    fn from(services: InProcess) -> Self {
        Self::InProcess(services)
    }
}
