//! Connections of HTTP, within bounds: so many at a time, and none that hangs for ever.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep},
};

/// The most connections at a time. Further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 2_048;

/// Time for which a connection may make no progress. Whoever watches something hears a heartbeat more often than that.
const PATIENCE: Duration = Duration::from_secs(60);

/// A listener whose connections end by themselves when they make no progress.
#[derive(Debug)]
pub(super) struct Listening {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl Listening {
    /// The same listener, with bounds.
    pub(super) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            room: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        }
    }
}

impl Listener for Listening {
    type Io = Connection<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let room = room.expect("it is never closed");
        let (stream, peer) = Listener::accept(&mut self.listener).await;
        // Frames are small, and are not to wait for each other.
        let _ = stream.set_nodelay(true);
        (Connection::new(stream, Some(room)), peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails once nothing was read or written for 60 s; while a write waits for its peer to read, what the peer sends is no
/// progress.
#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    idle: Pin<Box<Sleep>>,
    is_stuck: bool,
    _room: Option<OwnedSemaphorePermit>,
}

impl<S> Connection<S> {
    fn new(stream: S, room: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            stream,
            idle: Box::pin(sleep(PATIENCE)),
            is_stuck: false,
            _room: room,
        }
    }

    fn progressed(&mut self) {
        self.idle.as_mut().reset(Instant::now() + PATIENCE);
    }

    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.idle
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        self.is_stuck = written.is_pending();
        if self.is_stuck {
            return self.wait(context);
        }
        self.progressed();
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_pending() {
            return self.wait(context);
        }
        if !self.is_stuck {
            self.progressed();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        time::advance,
    };

    use super::*;

    fn pair() -> (Connection<DuplexStream>, DuplexStream) {
        let (ours, theirs) = duplex(16);
        (Connection::new(ours, None), theirs)
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_cut_off_whatever_it_sends() {
        let (ours, mut theirs) = pair();
        let (mut from, mut to) = tokio::io::split(ours);
        let begun = Instant::now();
        let chatter = async {
            for _ in 0..10 {
                theirs.write_all(b"x").await.expect("it is read");
                sleep(Duration::from_secs(20)).await;
            }
        };
        let reading = async { while from.read_u8().await.is_ok() {} };
        let writing = async {
            let error = to.write_all(&[0; 64]).await.expect_err("nobody reads");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(begun.elapsed(), PATIENCE);
        };
        tokio::select! {
            () = writing => {}
            ((), ()) = async { tokio::join!(chatter, reading) } => panic!("it was not cut off"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_says_nothing_is_cut_off() {
        let (mut ours, _theirs) = pair();
        let error = ours.read_u8().await.expect_err("nothing comes");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_is_slow_is_served() {
        let (mut ours, mut theirs) = pair();
        for _ in 0..5 {
            ours.write_all(&[0; 16]).await.expect("there is room");
            advance(Duration::from_secs(50)).await;
            theirs.read_exact(&mut [0; 16]).await.expect("bytes");
        }
        advance(Duration::from_secs(50)).await;
        theirs.write_all(b"x").await.expect("there is room");
        assert_eq!(ours.read_u8().await.expect("it is served"), b'x');
    }
}
