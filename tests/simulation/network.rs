//! The simulated network as hub and SDK take it.

use std::io;

use tokio_stream::Stream;
use turmoil::net::{TcpListener, TcpStream};

/// The host of the hub, and where it listens.
pub(crate) const HUB: &str = "hub";
pub(crate) const PORT: u16 = 50051;

/// The hub's address.
pub(crate) fn url() -> String {
    format!("http://{HUB}:{PORT}")
}

/// What peers bring to the SDK.
pub(crate) async fn dial(address: String) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

/// Accepts connections, one after the other.
pub(crate) fn accept(listener: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> + Send {
    futures_util::stream::unfold(listener, async |listener| {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    })
}
