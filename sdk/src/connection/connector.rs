//! Ways to the hub: over TCP, unless somebody brings other streams or a hub in the same process; with TLS where the address says so.

use std::{fmt, io, sync::Arc, time::Duration};

use agenthub_proto::{
    grpc::{InProcess, Transport},
    socket::{HubAddress, Socket, connect, secured},
    tls::ClientTls,
};
use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::{
    codegen::StdError,
    transport::{Endpoint, Error},
};

/// Deadline of connecting if nothing else is said.
const CONNECT: Duration = Duration::from_secs(5);

/// Payload of a connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type Opened = io::Result<Socket<Box<dyn Stream>>>;

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
                let stream: Box<dyn Stream> = Box::new(opening.await?);
                Ok(Socket::new(stream))
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
    address: HubAddress,
    endpoint: &Endpoint,
    connector: Connector,
    tls: ClientTls,
) -> Result<Transport, Error> {
    let within = endpoint.get_connect_timeout().unwrap_or(CONNECT);
    // Shared by all tries to connect.
    let to = Arc::new((address, tls));
    let channel = match connector {
        Connector::Streams(open) => {
            let service = tower::service_fn(move |_| {
                let (to, opening) = (Arc::clone(&to), open(to.0.authority().to_owned()));
                async move {
                    let stream = secured(opening.await?, &to.0, &to.1, within).await?;
                    Ok::<_, StdError>(TokioIo::new(stream))
                }
            });
            endpoint.connect_with_connector(service).await?
        }
        Connector::Tcp => {
            let service = tower::service_fn(move |_| {
                let to = Arc::clone(&to);
                async move { connect(&to.0, &to.1, within).await }
            });
            endpoint.connect_with_connector(service).await?
        }
        Connector::InProcess(services) => return Ok(services.into()),
    };
    Ok(channel.into())
}
