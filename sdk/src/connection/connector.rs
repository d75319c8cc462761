//! Ways to the hub: over TCP, unless somebody brings other streams or a hub in the same process.

use std::{fmt, io, sync::Arc, time::Duration};

use agenthub_proto::{
    grpc::{InProcess, Transport},
    socket::{Socket, connect},
};
use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::transport::{Endpoint, Error, Uri};

/// Deadline of connecting if nothing else is said.
const CONNECT: Duration = Duration::from_secs(5);

/// Payload of a connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type Opened = io::Result<TokioIo<Box<dyn Stream>>>;

/// Way to the hub.
#[derive(Clone, Default)]
pub(crate) enum Connector {
    #[default]
    Tcp,
    /// Opens a stream to an address, given as `host:port`.
    Streams(Arc<dyn Fn(String) -> BoxFuture<'static, Opened> + Send + Sync>),
    InProcess(InProcess),
}

impl Connector {
    pub(crate) fn streams<O, F, S>(open: O) -> Self
    where
        O: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self::Streams(Arc::new(move |address| {
            let opening = open(address);
            Box::pin(async move {
                let stream = Box::new(Socket::new(opening.await?));
                Ok(TokioIo::new(stream as Box<dyn Stream>))
            })
        }))
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

/// Connects, and again by itself whenever the transport is used after a break.
pub(crate) async fn transport(
    endpoint: &Endpoint,
    connector: Connector,
) -> Result<Transport, Error> {
    let channel = match connector {
        Connector::Streams(open) => {
            let service = tower::service_fn(move |uri: Uri| open(address(&uri)));
            endpoint.connect_with_connector(service).await?
        }
        Connector::Tcp => {
            let within = endpoint.get_connect_timeout().unwrap_or(CONNECT);
            let service = tower::service_fn(move |uri: Uri| connect(uri, within));
            endpoint.connect_with_connector(service).await?
        }
        Connector::InProcess(services) => return Ok(services.into()),
    };
    Ok(channel.into())
}

fn address(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    format!("{host}:{}", uri.port_u16().unwrap_or(80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        let of = |uri: &'static str| address(&Uri::from_static(uri));
        assert_eq!(of("http://hub:50051"), "hub:50051");
        assert_eq!(of("http://[::1]:7/"), "[::1]:7");
        assert_eq!(of("http://hub"), "hub:80");
    }
}
