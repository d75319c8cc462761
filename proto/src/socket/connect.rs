//! Connections to a hub: over TCP with or without TLS, or in this process.

use std::{io, sync::Arc, time::Duration};

use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tonic::{
    codegen::StdError,
    transport::{Channel, Endpoint},
};
use tower::{ServiceExt as _, service_fn};

use super::{HubAddress, Socket, in_process, noting::Noting, stream::Stream};
use crate::tls::ClientTls;

/// Protocol of the hub in TLS (RFC 7301): HTTP/2.
const ALPN: &[u8] = b"h2";

/// The stream to a hub. The socket knows what its peer has taken, of TLS what is encrypted.
pub type HubStream<S> = Stream<Socket<S>, Noting<TlsStream<Socket<S>>>>;

/// Connects to a hub. Each address of the host gets a share of the time.
///
/// # Errors
///
/// The host does not exist, nothing listens there, or TLS fails.
pub async fn connect(
    address: &HubAddress,
    tls: &ClientTls,
    within: Duration,
) -> Result<TokioIo<HubStream<TcpStream>>, StdError> {
    if let Some(link) = in_process::link(address.authority()).await? {
        return Ok(TokioIo::new(Stream::InProcess(link)));
    }
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(within));
    let connected = tcp.oneshot(address.dialled().clone()).await?;
    let socket = Socket::tcp(connected.into_inner())?;
    Ok(TokioIo::new(secured(socket, address, tls, within).await?))
}

/// Speaks TLS over a stream to the hub if its address says so.
///
/// # Errors
///
/// TLS fails, or is not done in time.
pub async fn secured<S: AsyncRead + AsyncWrite + Unpin>(
    socket: Socket<S>,
    address: &HubAddress,
    tls: &ClientTls,
    within: Duration,
) -> Result<HubStream<S>, StdError> {
    if !address.is_tls() {
        return Ok(Stream::Plain(socket));
    }
    tls.note(None);
    let mut config = tls.config()?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    let name = ServerName::try_from(address.host().to_owned())?;
    let handshake = TlsConnector::from(Arc::new(config)).connect(name, socket);
    let stream = timeout(within, handshake).await.map_err(|_| {
        let reason = format!("the TLS handshake was not done within {within:?}");
        io::Error::new(io::ErrorKind::TimedOut, reason)
    })??;
    Ok(Stream::Tls(Box::new(Noting::new(stream, tls.clone()))))
}

/// A channel to a hub with these settings, which connects when it is used and again after a break, with the [TLS of this
/// process](ClientTls::of_process).
pub fn channel(address: HubAddress, endpoint: &Endpoint, within: Duration) -> Channel {
    endpoint.connect_with_connector_lazy(service_fn(move |_| {
        let address = address.clone();
        async move { connect(&address, ClientTls::of_process(), within).await }
    }))
}
