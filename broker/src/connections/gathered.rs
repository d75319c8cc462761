//! Gathering of writes: to a peer that takes no large frames, HTTP/2 sends a large answer in many frames and flushes
//! after each, which would cost a system call and a wake-up of the peer for each.

use std::{
    io::{self, IoSlice},
    ops::RangeInclusive,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum bytes of one write.
const FULL: usize = 64 * 1024;

/// Size of a write that may be a part of something large, in bytes: HTTP/2's usual frame has 16 KiB, with its header
/// and a few small frames before it. Smaller writes are sent at once, and larger ones are worth their own system call.
const LARGE: RangeInclusive<usize> = 8 * 1024..=17 * 1024;

/// A socket that delays a large write until the next write or flush.
#[derive(Debug)]
pub(super) struct Gathered<S> {
    socket: S,
    /// Empty while nothing large is written, so that idle connections have no buffer.
    held: BytesMut,
    /// Something was written since the last flush.
    is_fresh: bool,
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    pub(super) fn new(socket: S) -> Self {
        Self {
            socket,
            held: BytesMut::new(),
            is_fresh: false,
        }
    }

    fn poll_write_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let count = ready!(Pin::new(&mut self.socket).poll_write(context, &self.held))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.held.advance(count);
        }
        self.held = BytesMut::new();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count: usize = slices.iter().map(|slice| slice.len()).sum();
        if self.held.len() >= FULL {
            ready!(self.poll_write_held(context))?;
        }
        if self.held.is_empty() && !LARGE.contains(&count) {
            return Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        }
        let before = self.held.len();
        self.held.reserve(FULL - before);
        for slice in slices {
            let room = FULL - self.held.len();
            self.held.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        self.is_fresh = true;
        Poll::Ready(Ok(self.held.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// The first flush after a write is deferred to the second, which the writer triggers itself or by being woken.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.is_fresh) && self.held.len() < FULL {
            context.waker().wake_by_ref();
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_write_held(context))?;
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_held(context))?;
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker_ref;

    use super::*;

    /// Records the writes. Accepts as many bytes per call as configured.
    #[derive(Debug)]
    struct Writes {
        calls: Vec<Vec<u8>>,
        takes: usize,
    }

    impl AsyncWrite for Writes {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.takes);
            if count == 0 {
                return Poll::Pending;
            }
            self.calls.push(bytes[..count].to_vec());
            Poll::Ready(Ok(count))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    struct Bench(Gathered<Writes>);

    impl Bench {
        fn taking(takes: usize) -> Self {
            let calls = Vec::new();
            Self(Gathered::new(Writes { calls, takes }))
        }

        /// Number of bytes accepted of a write.
        fn write(&mut self, bytes: usize) -> Option<usize> {
            let context = &mut Context::from_waker(noop_waker_ref());
            let bytes: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
            match Pin::new(&mut self.0).poll_write(context, &bytes) {
                Poll::Ready(written) => Some(written.expect("it is open")),
                Poll::Pending => None,
            }
        }

        fn flush(&mut self) -> bool {
            let context = &mut Context::from_waker(noop_waker_ref());
            Pin::new(&mut self.0).poll_flush(context).is_ready()
        }

        /// Sizes of the recorded writes.
        fn calls(&self) -> Vec<usize> {
            self.0.socket.calls.iter().map(Vec::len).collect()
        }
    }

    #[test]
    fn frames_of_something_large_are_written_at_once() {
        let mut b = Bench::taking(usize::MAX);
        for _ in 0..3 {
            assert_eq!(b.write(16_384), Some(16_384));
            assert!(b.flush());
        }
        assert_eq!(b.calls(), [0; 0]);
        assert!(b.flush(), "nothing more has come");
        assert_eq!(b.calls(), [3 * 16_384]);
        let once: Vec<u8> = (0..16_384).map(|n| (n % 251) as u8).collect();
        assert_eq!(b.0.socket.calls[0], once.repeat(3));
    }

    /// Written without being copied.
    #[test]
    fn a_large_frame_is_written_immediately() {
        let mut b = Bench::taking(usize::MAX);
        assert_eq!(b.write(40_000), Some(40_000));
        assert_eq!(b.calls(), [40_000]);
    }

    /// Writes stay in order, however large they are.
    #[test]
    fn a_large_frame_behind_something_goes_after_it() {
        let mut b = Bench::taking(usize::MAX);
        assert_eq!(b.write(10_000), Some(10_000));
        assert_eq!(b.write(2 * FULL), Some(FULL - 10_000));
        assert_eq!(b.write(FULL + 10_000), Some(FULL + 10_000));
        assert_eq!(b.calls(), [FULL, FULL + 10_000]);
    }

    #[test]
    fn something_small_is_written_immediately() {
        let mut b = Bench::taking(usize::MAX);
        assert_eq!(b.write(500), Some(500));
        assert_eq!(b.calls(), [500]);
        assert!(b.flush());
    }

    #[test]
    fn something_small_behind_something_large_goes_with_it() {
        let mut b = Bench::taking(usize::MAX);
        b.write(10_000);
        b.write(500);
        assert!(b.flush() && b.flush());
        assert_eq!(b.calls(), [10_500]);
    }

    #[test]
    fn no_more_is_held_than_is_written_at_once() {
        let mut b = Bench::taking(FULL);
        assert_eq!(b.write(10_000), Some(10_000));
        assert_eq!(b.write(FULL - 10_010), Some(FULL - 10_010));
        assert_eq!(b.write(100), Some(10));
        assert_eq!(b.write(90), Some(90));
        assert_eq!(b.calls(), [FULL, 90]);
    }

    #[test]
    fn a_peer_that_takes_nothing_is_waited_for() {
        let mut b = Bench::taking(0);
        b.write(10_000);
        b.write(FULL - 10_000);
        assert_eq!(b.write(1), None);
        assert!(!b.flush());
        b.0.socket.takes = 50_000;
        assert!(b.flush());
        assert_eq!(b.calls(), [50_000, FULL - 50_000]);
    }
}
