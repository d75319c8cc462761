//! Transports of calls to a hub.

use std::{
    fmt,
    future::ready,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tonic::{
    Status,
    body::Body,
    codegen::{
        Service, StdError,
        http::{Request, Response, header},
    },
    transport::Channel,
};

use crate::bearer::Bearer;

/// Transport of calls to a hub. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A connection over HTTP/2, and the token that calls show, if any.
    Network(Channel, Option<Bearer>),
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

impl InProcess {
    /// The same, with this among the extensions of every request: services of this process see it, and nobody elsewhere can send it.
    #[must_use]
    pub fn with_extension<T: Clone + Send + Sync + 'static>(self, extension: T) -> Self {
        let Self(call) = self;
        Self(Arc::new(move |mut request| {
            request.extensions_mut().insert(extension.clone());
            call(request)
        }))
    }

    /// The same, for requests that `admit` lets through.
    #[must_use]
    pub fn admitting(
        self,
        admit: impl Fn(&mut Request<Body>) -> Result<(), Status> + Send + Sync + 'static,
    ) -> Self {
        let Self(call) = self;
        Self(Arc::new(move |mut request| match admit(&mut request) {
            Ok(()) => call(request),
            Err(status) => Box::pin(ready(status.into_http())),
        }))
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
            Self::Network(channel, _) => channel.poll_ready(context).map_err(Into::into),
            Self::InProcess(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        match self {
            Self::Network(channel, bearer) => {
                if let Some(bearer) = bearer {
                    let value = bearer.header().clone();
                    request.headers_mut().insert(header::AUTHORIZATION, value);
                }
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

impl Transport {
    /// The same, with this token on every call. In the hub's own process none is needed.
    #[must_use]
    pub fn with_bearer(self, bearer: Option<Bearer>) -> Self {
        match self {
            Self::Network(channel, _) => Self::Network(channel, bearer),
            in_process => in_process,
        }
    }

    /// True if calls show a token.
    pub fn has_bearer(&self) -> bool {
        matches!(self, Self::Network(_, Some(_)))
    }
}

impl From<Channel> for Transport {
    fn from(channel: Channel) -> Self {
        Self::Network(channel, None)
    }
}

impl From<InProcess> for Transport {
    fn from(services: InProcess) -> Self {
        Self::InProcess(services)
    }
}
