//! Times of a connection of HTTP: none hangs for ever.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use agenthub_proto::PeerCertificate;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep},
};

use super::exchanges::{Exchanges, Part};

/// Time for which a connection may make no progress. Whoever watches something hears a heartbeat more often than that, and common proxies end
/// connections that they do not use after 60 s: were it the hub that ends them first, a request on its way would be lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(75);

/// Timeout for the whole head of a request, from its first byte.
pub(super) const HEAD: Duration = Duration::from_secs(30);

/// Timeout for the whole body of a request, from the end of its head, to which each byte adds.
pub(super) const BODY: Duration = Duration::from_secs(60);

/// Bytes of a body that add a second to its timeout.
const BODY_RATE: u32 = 1024;

/// A connection that fails once nothing was read or written for 75 s, unless a whole request waits for its answer; while what is written waits
/// for its peer to read, what the peer sends is no progress. It fails, too, once the head of a request takes longer than 30 s from its first byte,
/// or its body longer than 60 s and a second for each KiB.
#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    idle: Pin<Box<Sleep>>,
    is_stuck: bool,
    exchanges: Exchanges,
    /// The part of a request to which `late` belongs.
    timed: Part,
    /// End of the time of that part.
    late: Pin<Box<Sleep>>,
    /// The certificate that the peer has shown.
    certificate: Option<PeerCertificate>,
    _room: Option<OwnedSemaphorePermit>,
}

impl<S> Connection<S> {
    pub(super) fn new(stream: S, room: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            stream,
            idle: Box::pin(sleep(PATIENCE)),
            is_stuck: false,
            exchanges: Exchanges::default(),
            timed: Part::Answer,
            late: Box::pin(sleep(HEAD)),
            certificate: None,
            _room: room,
        }
    }

    /// The same, of a peer that has shown this certificate.
    pub(super) fn of(mut self, certificate: Option<PeerCertificate>) -> Self {
        self.certificate = certificate;
        self
    }

    /// The identity of the peer, if it has shown a certificate.
    pub(super) fn certificate(&self) -> Option<&PeerCertificate> {
        self.certificate.as_ref()
    }

    /// The requests of this connection.
    pub(super) fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }

    /// True once this part of a request, of which so many bytes have come now, takes too long.
    fn is_late(&mut self, part: Part, came: usize, context: &mut Context<'_>) -> bool {
        let now = Instant::now();
        match part {
            Part::Answer => return false,
            // The time of a head begins with its first byte.
            Part::Head(_) if part != self.timed && came == 0 => return false,
            Part::Head(_) if part != self.timed => self.late.as_mut().reset(now + HEAD),
            Part::Head(_) => {}
            Part::Body(_) => {
                let until = match part == self.timed {
                    true => self.late.deadline(),
                    false => now + BODY,
                };
                let came = u32::try_from(came).unwrap_or(u32::MAX);
                let more = Duration::from_secs(1) * came / BODY_RATE;
                self.late.as_mut().reset(until + more);
            }
        }
        self.timed = part;
        self.late.as_mut().poll(context).is_ready()
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
        if written.is_ready() {
            self.progressed();
        }
        self.passed_on(context, written)
    }

    /// Result for bytes that were taken before. They wait for the peer, as with TLS, which takes more than the peer does.
    fn passed_on<T>(
        &mut self,
        context: &mut Context<'_>,
        passed: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        self.is_stuck = passed.is_pending();
        match self.is_stuck {
            true => self.wait(context),
            false => passed,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let part = self.exchanges.part();
        if self.is_late(part, buffer.filled().len() - before, context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if read.is_pending() {
            return match part {
                // The peer waits, and is only asked whether it is there.
                Part::Answer => Poll::Pending,
                Part::Head(_) | Part::Body(_) => self.wait(context),
            };
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
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.passed_on(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.passed_on(context, shut)
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

    /// A stream that takes what it is given and never passes it on, as TLS does while its peer reads nothing.
    struct Unread;

    impl AsyncRead for Unread {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Unread {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_taken_for_a_peer_that_reads_nothing_holds_no_connection() {
        let mut ours = Connection::new(Unread, None);
        let begun = Instant::now();
        ours.write_all(b"answer").await.expect("it is taken");
        let error = ours.flush().await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), PATIENCE);
        let mut ours = Connection::new(Unread, None);
        let error = ours.shutdown().await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
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
