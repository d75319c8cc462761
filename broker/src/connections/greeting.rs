//! The connection preface of HTTP/2 (RFC 9113, section 3.4).

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    time::timeout,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Waits for the preface, or for other bytes, which the server then rejects.
///
/// # Errors
///
/// [`io::ErrorKind::TimedOut`] if neither came in time, and errors of reading.
pub(super) async fn hear<S>(mut socket: S, within: Duration) -> io::Result<Greeted<S>>
where
    S: AsyncRead + Unpin,
{
    let mut heard = BytesMut::with_capacity(PREFACE.len());
    let hearing = async {
        while heard.len() < PREFACE.len() && PREFACE.starts_with(&heard) {
            if socket.read_buf(&mut heard).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        }
        Ok(())
    };
    timeout(within, hearing).await??;
    Ok(Greeted::after(heard.freeze(), socket))
}

/// A connection whose first bytes were read, and are returned again.
#[derive(Debug)]
pub(crate) struct Greeted<S> {
    heard: Bytes,
    socket: S,
}

impl<S> Greeted<S> {
    /// A connection of which these bytes were read.
    pub(crate) fn after(heard: Bytes, socket: S) -> Self {
        Self { heard, socket }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Greeted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.heard.has_remaining() {
            let some = self.heard.len().min(buffer.remaining());
            buffer.put_slice(&self.heard.split_to(some));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Greeted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
