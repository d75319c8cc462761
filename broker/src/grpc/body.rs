//! The body of an answer to `Connect`: frames that are bytes already, small ones joined so that they fill what HTTP/2 sends at a time.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use futures_channel::mpsc;
use futures_util::StreamExt as _;
use hyper::body::{Body, Frame};
use tokio_util::sync::DropGuard;
use tonic::Status;

use super::status::trailers;

/// As much is joined, in bytes: what HTTP/2 sends at a time.
const FULL: usize = 16 * 1024;

/// A piece of a frame, or why there are no more.
pub(super) type Piece = Result<Bytes, Status>;

/// See the module's description. It ends with the status that it is given, or well.
#[derive(Debug)]
pub(super) struct FrameBody {
    // Of a kind that takes little while it is empty: every agent has one.
    frames: mpsc::Receiver<Piece>,
    /// Taken from the queue, and not sent yet.
    next: Option<Piece>,
    is_over: bool,
    _gone: DropGuard,
}

impl FrameBody {
    /// Takes frames from a queue. When it is dropped, whoever fills that hears it from the guard.
    pub(super) fn new(frames: mpsc::Receiver<Piece>, gone: DropGuard) -> Self {
        Self {
            frames,
            next: None,
            is_over: false,
            _gone: gone,
        }
    }

    /// What is sent at a time: the first piece, with those behind it that fit and are there.
    fn joined(&mut self, first: Bytes) -> Bytes {
        if first.len() >= FULL {
            return first;
        }
        self.next = self.frames.try_recv().ok();
        if self.next.is_none() {
            return first;
        }
        let mut joined = BytesMut::with_capacity(FULL);
        joined.extend_from_slice(&first);
        while let Some(Ok(bytes)) = &self.next
            && joined.len() + bytes.len() <= FULL
        {
            joined.extend_from_slice(bytes);
            self.next = self.frames.try_recv().ok();
        }
        joined.freeze()
    }
}

impl Body for FrameBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let next = match self.next.take() {
            Some(next) => Some(next),
            None => ready!(self.frames.poll_next_unpin(context)),
        };
        let status = match next {
            Some(Ok(bytes)) => {
                let bytes = self.joined(bytes);
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            Some(Err(status)) => status,
            None => Status::ok(""),
        };
        self.is_over = true;
        Poll::Ready(Some(trailers(&status)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn small_frames_are_joined_and_large_ones_go_as_they_are() {
        let (mut tx, rx) = mpsc::channel(8);
        for bytes in [1, 2, 3, FULL + 1, FULL - 1, 1, 1] {
            let sent = tx.try_send(Ok(Bytes::from(vec![0; bytes])));
            sent.expect("there is room");
        }
        let last = tx.try_send(Err(Status::aborted("so")));
        last.expect("there is room");
        let gone = CancellationToken::new();
        let mut body = FrameBody::new(rx, gone.clone().drop_guard());
        let mut sizes = Vec::new();
        let trailers = loop {
            let frame = body.frame().await.expect("trailers come").expect("good");
            match frame.into_data() {
                Ok(data) => sizes.push(data.len()),
                Err(frame) => break frame.into_trailers().expect("nothing else"),
            }
        };
        assert_eq!(sizes, [6, FULL + 1, FULL, 1]);
        assert_eq!(trailers["grpc-status"], "10");
        assert!(body.frame().await.is_none());
        assert!(!gone.is_cancelled());
        drop(body);
        assert!(gone.is_cancelled());
    }
}
