//! Sockets of the hub and of its Rust clients, with detection of dead peers.
//!
//! HTTP/2 pings a silent peer, but the ping waits behind everything sent before, so that a late answer means nothing on
//! a slow link. Therefore the progress of the socket itself is checked.

mod address;
mod connect;
pub mod in_process;
mod liveness;
mod noting;
mod stream;
mod tcp;

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

use self::liveness::{Liveness, Sample, Verdict};
pub use self::{
    address::{HubAddress, without_login},
    connect::{HubStream, channel, connect, secured},
    liveness::{DEAD, PING, SLOWEST, is_progress},
    noting::Noting,
    stream::Stream,
};

/// Timeout of HTTP/2's ping: practically infinite, as the socket fails earlier if the peer is dead.
pub const PONG: Duration = Duration::from_secs(365 * 24 * 3600);

/// Progress of a connection, as of the last check.
#[derive(Debug, Default)]
pub struct Progress {
    taken: AtomicU64,
    has_backlog: AtomicBool,
}

impl Progress {
    /// The number of bytes that the peer has taken.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// True if bytes are unacknowledged or queued.
    pub fn has_backlog(&self) -> bool {
        self.has_backlog.load(Ordering::Relaxed)
    }
}

/// A stream that fails with [`TimedOut`](io::ErrorKind::TimedOut) once its peer has neither sent nor taken anything for
/// [`DEAD`]. Pending reads and writes return the error.
#[derive(Debug)]
pub struct Socket<S> {
    stream: S,
    /// Bytes that the peer has acknowledged, if the system knows that. Otherwise written bytes count.
    acknowledged: fn(&S) -> Option<u64>,
    began: Instant,
    heard: Instant,
    written: u64,
    /// A write is pending.
    is_blocked: bool,
    liveness: Liveness,
    look: Pin<Box<Sleep>>,
    progress: Arc<Progress>,
}

impl<S> Socket<S> {
    /// Wraps any stream. Written bytes count as taken.
    pub fn new(stream: S) -> Self {
        Self::with(stream, |_| None)
    }

    fn with(stream: S, acknowledged: fn(&S) -> Option<u64>) -> Self {
        let began = Instant::now();
        Self {
            stream,
            acknowledged,
            began,
            heard: began,
            written: 0,
            is_blocked: false,
            liveness: Liveness::default(),
            look: Box::pin(sleep_until(began + Liveness::FIRST)),
            progress: Arc::default(),
        }
    }

    /// A handle to the progress of the connection.
    pub fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }

    /// Checks the connection if a check is due. Called by every operation that waits for the peer.
    fn poll_dead(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        while self.look.as_mut().poll(context).is_ready() {
            let acknowledged = (self.acknowledged)(&self.stream);
            let taken = acknowledged.unwrap_or(self.written);
            let has_backlog = self.is_blocked || taken < self.written;
            self.progress.taken.store(taken, Ordering::Relaxed);
            self.progress
                .has_backlog
                .store(has_backlog, Ordering::Relaxed);
            let seen = Sample {
                now: self.began.elapsed(),
                heard: self.heard - self.began,
                taken,
                has_backlog,
            };
            match self.liveness.look(seen) {
                Verdict::CheckAt(next) => self.look.as_mut().reset(self.began + next),
                Verdict::Dead => {
                    let reason = format!("the peer said and took nothing for {DEAD:?}");
                    return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
            }
        }
        Poll::Pending
    }

    /// Processes the result of a write.
    fn wrote(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.is_blocked = written.is_pending();
        match written {
            Poll::Ready(Ok(count)) => {
                self.written += count as u64;
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.poll_dead(context).map(Err),
        }
    }
}

impl Socket<TcpStream> {
    /// Wraps a TCP connection. Bytes count as taken once the peer's system has acknowledged them. Sets `TCP_NODELAY`,
    /// and limits the unsent bytes in the kernel.
    ///
    /// # Errors
    ///
    /// The connection has ended.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        tcp::bound_unsent(&stream);
        Ok(Self::with(stream, tcp::acknowledged))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        match read {
            Poll::Ready(_) => {
                self.heard = Instant::now();
                read
            }
            Poll::Pending => self.poll_dead(context).map(Err),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(context, written)
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    /// Time until a read fails, for a peer that stays silent or sends this many bytes in each second until a time.
    async fn dead_after(bytes: usize, until: Duration) -> Duration {
        let (mut peer, socket) = duplex(1024);
        let mut socket = Socket::new(socket);
        let start = Instant::now();
        let taking = tokio::spawn(async move {
            while start.elapsed() < until {
                tokio::time::sleep(Duration::from_secs(1)).await;
                peer.read_exact(&mut vec![0; bytes])
                    .await
                    .expect("it is open");
            }
            peer
        });
        let (mut reads, mut writes) = tokio::io::split(&mut socket);
        let mut byte = [0];
        let failed = tokio::select! {
            read = reads.read(&mut byte) => read.map(drop),
            written = async { loop { writes.write_all(&[7; 100]).await? } } => written,
        };
        assert_eq!(
            failed.expect_err("it is dead").kind(),
            io::ErrorKind::TimedOut
        );
        drop(taking.await);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_dead_in_time() {
        assert_eq!(dead_after(0, Duration::ZERO).await, DEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_alive_as_long_as_it_takes_something() {
        let until = Duration::from_secs(100);
        let dead = dead_after(2 * 1024, until).await;
        assert!(dead > until && dead <= until + DEAD, "{dead:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_says_something_is_alive_though_it_takes_nothing() {
        let (mut peer, socket) = duplex(1024);
        let mut socket = Socket::new(socket);
        let saying = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(DEAD - PING / 2).await;
                peer.write_all(b"!").await.expect("it is open");
            }
        });
        let mut said = [0; 10];
        socket.read_exact(&mut said).await.expect("it is alive");
        saying.await.expect("all was said");
    }
}
