//! Calls in progress, each in its own task, and the end of calls whose peer stops reading.

use std::{
    cell::Cell,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    body::{Body, Frame, SizeHint},
    rt::Executor,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::line::Line;

tokio::task_local! {
    static ANSWER: Answer;
}

/// Progress of a call's answer.
struct Answer {
    /// Number of pieces handed over.
    pieces: Cell<u64>,
    /// The last piece waits: the peer has not asked for more.
    waits: Cell<bool>,
    /// Maximum wait of a piece.
    stall: Cell<Duration>,
    /// A piece has exceeded it.
    given_up: Cell<bool>,
    line: Line,
}

impl Answer {
    /// The waiting piece, if any.
    fn waiting(&self) -> Option<u64> {
        self.waits.get().then(|| self.pieces.get())
    }
}

/// Sets the time after which the current call ends if its peer does not take a piece of the answer.
pub(crate) fn give_up_after(stall: Duration) {
    // Outside of a call, as in a test, there is no limit.
    let _ = ANSWER.try_with(|answer| answer.stall.set(stall));
}

/// True if the current call ends because its peer took nothing of the answer for too long.
pub(crate) fn was_given_up() -> bool {
    ANSWER.try_with(|answer| answer.given_up.get()) == Ok(true)
}

/// Returns the connection of the current call.
pub(crate) fn line() -> Line {
    // Outside of a call there is none, which behaves like a fast connection.
    let line = ANSWER.try_with(|answer| answer.line.clone());
    line.unwrap_or_default()
}

/// Runs the calls of a connection. A call ends with its connection, or when its peer has not taken a piece of the
/// answer within this time, unless the call set [another time](give_up_after) or the link is slow.
#[derive(Clone)]
pub(super) struct Calls {
    pub(super) tasks: TaskTracker,
    pub(super) stall: Duration,
    pub(super) line: Line,
}

impl<F> Executor<F> for Calls
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, call: F) {
        // Boxed for the reason given in `Hub::spawn`.
        let call = until_stuck(Box::pin(call));
        let answer = Answer {
            pieces: Cell::new(0),
            waits: Cell::new(false),
            stall: Cell::new(self.stall),
            given_up: Cell::new(false),
            line: self.line.clone(),
        };
        self.tasks.spawn(ANSWER.scope(answer, call));
    }
}

/// Ends a call whose peer is stuck, so that HTTP/2 releases its buffers. A peer that still answers pings would keep
/// them forever otherwise.
async fn until_stuck(mut call: Pin<Box<impl Future>>) {
    // Reset only after it expires: many pieces arrive while it runs.
    let mut look = pin!(None);
    let mut seen = None;
    let mut since = Instant::now();
    let mut patience = ANSWER.with(|a| a.line.begin());
    poll_fn(|cx| {
        if call.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(waiting) = ANSWER.with(Answer::waiting) else {
            return Poll::Pending;
        };
        if seen.replace(waiting) != Some(waiting) {
            since = Instant::now();
            patience = ANSWER.with(|a| a.line.begin());
        }
        let stall = ANSWER.with(|a| a.stall.get());
        loop {
            if look.is_none() {
                look.set(Some(sleep_until(since + stall)));
            }
            if let Some(look) = look.as_mut().as_pin_mut() {
                ready!(look.poll(cx));
            }
            look.set(None);
            if since.elapsed() >= stall {
                if !patience.lasts(ANSWER.with(|a| a.line.standing())) {
                    break;
                }
                since = Instant::now();
            }
        }
        ANSWER.with(|a| a.given_up.set(true));
        tracing::debug!("a call ended: its peer took nothing of the answer for {stall:?}");
        Poll::Ready(())
    })
    .await;
}

/// Maximum bytes of a piece, the size of an HTTP/2 write: a peer that takes this much in time is not stuck, however
/// large the message. On a slow link, the progress of the connection counts instead.
pub(super) const PIECE: usize = agenthub_proto::http2::FRAME as usize;

/// The body of an answer, in pieces; reports its progress to [`until_stuck`].
pub(super) struct ProgressBody<B> {
    answer: B,
    /// Rest of the current frame.
    rest: Bytes,
}

impl<B> ProgressBody<B> {
    pub(super) fn new(answer: B) -> Self {
        Self {
            answer,
            rest: Bytes::new(),
        }
    }

    /// Returns the next piece of a frame.
    fn piece(&mut self, mut data: Bytes) -> Frame<Bytes> {
        if data.len() > PIECE {
            self.rest = data.split_off(PIECE);
        }
        Frame::data(data)
    }
}

impl<B> Body for ProgressBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let tell = |is_piece: bool| {
            // Outside of a call there is no progress to report.
            let _ = ANSWER.try_with(|answer| {
                answer.waits.set(is_piece);
                answer.pieces.update(|n| n + u64::from(is_piece));
            });
        };
        tell(false);
        let frame = match std::mem::take(&mut self.rest) {
            rest if rest.is_empty() => ready!(Pin::new(&mut self.answer).poll_frame(cx)),
            rest => Some(Ok(Frame::data(rest))),
        };
        let piece = |frame: Frame<Bytes>| match frame.into_data() {
            Ok(data) => self.piece(data),
            Err(trailers) => trailers,
        };
        let frame = frame.map(|frame| frame.map(piece));
        tell(matches!(&frame, Some(Ok(frame)) if frame.is_data()));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.answer.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.rest.is_empty() {
            true => self.answer.size_hint(),
            false => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    #[tokio::test]
    async fn a_large_message_is_handed_over_in_pieces() {
        let message = Bytes::from(vec![7; 2 * PIECE + 1]);
        let mut body = ProgressBody::new(Full::new(message));
        let mut sizes = Vec::new();
        while !body.is_end_stream() {
            let frame = body.frame().await.expect("it goes on").expect("good");
            sizes.push(frame.into_data().expect("data").len());
        }
        assert_eq!(sizes, [PIECE, PIECE, 1]);
        assert!(body.frame().await.is_none());
    }
}
