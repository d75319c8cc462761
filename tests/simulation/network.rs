//! The simulated network for hub and SDK.

use std::io;

use tokio_stream::Stream;
use turmoil::net::{TcpListener, TcpStream};

/// Host and port of the hub.
pub(crate) const HUB: &str = "hub";
pub(crate) const PORT: u16 = 50051;

/// The hub's address.
pub(crate) fn url() -> String {
    format!("http://{HUB}:{PORT}")
}

/// The connector that the SDK uses.
pub(crate) async fn dial(address: String) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

/// The stream of accepted connections.
pub(crate) fn accept(listener: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> + Send {
    futures_util::stream::unfold(listener, async |listener| {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    })
}
