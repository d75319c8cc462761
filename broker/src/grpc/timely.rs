//! Timeout of requests: an incomplete call holds a stream, its buffers and a task.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};
use tonic::Status;

/// Time for a request to arrive, extended by each [`PROGRESS`] received meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);
/// Minimum bytes per [`PATIENCE`] of a slow peer.
const PROGRESS: usize = 16 * 1024;

/// A request body with a timeout. Fails with DEADLINE_EXCEEDED.
pub(super) struct Timely<B> {
    request: B,
    /// Started on the first wait: most requests have arrived as a whole.
    until: Option<Pin<Box<Sleep>>>,
    /// Bytes received since it was set.
    came: usize,
}

impl<B> Timely<B> {
    pub(super) fn new(request: B) -> Self {
        Self {
            request,
            until: None,
            came: 0,
        }
    }
}

impl<B> Body for Timely<B>
where
    B: Body<Data = Bytes, Error = Status> + Unpin,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.request).poll_frame(context) {
            if let Some(Ok(frame)) = &frame {
                this.came += frame.data_ref().map_or(0, Bytes::len);
            }
            return Poll::Ready(frame);
        }
        loop {
            let until = this.until.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
            ready!(until.as_mut().poll(context));
            if this.came < PROGRESS {
                return Poll::Ready(Some(Err(Status::deadline_exceeded(format!(
                    "the request did not come within {PATIENCE:?}"
                )))));
            }
            (this.until, this.came) = (None, 0);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.request.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.request.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};
    use tokio::time::Instant;

    use super::*;

    /// A request that receives this many bytes at each of these times, in seconds, and ends then or never. Returns the
    /// time of the timeout.
    async fn given_up(pieces: &[(u64, usize)], ends: bool) -> Option<Duration> {
        let start = Instant::now();
        let pieces = pieces.to_vec();
        let pieces = stream::iter(pieces).then(move |(at, bytes)| async move {
            tokio::time::sleep_until(start + Duration::from_secs(at)).await;
            Ok::<_, Status>(Frame::data(Bytes::from(vec![0; bytes])))
        });
        let rest: stream::BoxStream<'_, _> = match ends {
            true => stream::empty().boxed(),
            false => stream::pending().boxed(),
        };
        let body = StreamBody::new(pieces.chain(rest).boxed());
        let error = Timely::new(body).collect().await.err()?;
        assert_eq!(error.code(), tonic::Code::DeadlineExceeded);
        Some(start.elapsed())
    }

    /// promise 10
    #[tokio::test(start_paused = true)]
    async fn a_request_that_does_not_come_is_given_up() {
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(given_up(&[], false).await, seconds(10));
        assert_eq!(given_up(&[(9, 1), (19, 1)], true).await, seconds(10));
        assert_eq!(given_up(&[(1, PROGRESS)], false).await, seconds(20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_has_its_request_read() {
        assert_eq!(given_up(&[], true).await, None);
        assert_eq!(given_up(&[(9, 1)], true).await, None);
        let slow: Vec<_> = (1..20).map(|n| (9 * n, PROGRESS)).collect();
        assert_eq!(given_up(&slow, true).await, None);
    }
}
