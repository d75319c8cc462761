//! Connections to a hub over TCP.

use std::time::Duration;

use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use tokio::net::TcpStream;
use tonic::codegen::{StdError, http::Uri};
use tower::ServiceExt as _;

use super::Socket;

/// Connects to the host of a URI. Each address of the host gets a share of the time.
///
/// # Errors
///
/// The host does not exist, or nothing listens there.
pub async fn connect(uri: Uri, within: Duration) -> Result<TokioIo<Socket<TcpStream>>, StdError> {
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(within));
    let connected = tcp.oneshot(uri).await?;
    Ok(TokioIo::new(Socket::tcp(connected.into_inner())?))
}
