//! Connectors, which open the connection to the hub: over TCP, unless somebody brings other streams.

use std::{fmt, io, sync::Arc, time::Duration};

use agenthub_proto::socket::{Socket, connect};
use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::transport::{Channel, Endpoint, Error, Uri};

/// Deadline of connecting if nothing else is said.
const CONNECT: Duration = Duration::from_secs(5);

/// Payload of a connection.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type Opened = io::Result<TokioIo<Box<dyn Stream>>>;

/// Opens a stream to an address, given as `host:port`.
#[derive(Clone)]
pub(crate) struct Connector(Arc<dyn Fn(String) -> BoxFuture<'static, Opened> + Send + Sync>);

impl Connector {
    pub(crate) fn new<O, F, S>(open: O) -> Self
    where
        O: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self(Arc::new(move |address| {
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

/// Connects, over TCP if there is no connector, and again by itself whenever the channel is used after a break.
pub(crate) async fn channel(
    endpoint: &Endpoint,
    connector: Option<Connector>,
) -> Result<Channel, Error> {
    match connector {
        Some(Connector(open)) => {
            let service = tower::service_fn(move |uri: Uri| open(address(&uri)));
            endpoint.connect_with_connector(service).await
        }
        None => {
            let within = endpoint.get_connect_timeout().unwrap_or(CONNECT);
            let service = tower::service_fn(move |uri: Uri| connect(uri, within));
            endpoint.connect_with_connector(service).await
        }
    }
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
