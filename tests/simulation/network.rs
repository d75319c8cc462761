//! The simulated network as hub and SDK take it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::Stream;
use tonic::transport::server::Connected;
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
pub(crate) fn accept(listener: TcpListener) -> impl Stream<Item = io::Result<Accepted>> + Send {
    futures_util::stream::unfold(listener, async |listener| {
        let accepted = listener.accept().await.map(|(stream, _)| Accepted(stream));
        Some((accepted, listener))
    })
}

/// A connection of which its server need not know anything.
#[derive(Debug)]
pub(crate) struct Accepted(TcpStream);

impl Connected for Accepted {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
