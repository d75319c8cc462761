//! Body of a `Connect` answer: encoded frames, small ones joined up to the size of an HTTP/2 write.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use futures_util::{
    Stream, StreamExt as _,
    stream::{BoxStream, Fuse},
};
use hyper::body::{Body, Frame};
use tonic::Status;

use super::status::trailers;

/// Maximum bytes of joined frames: the size of an HTTP/2 write.
const FULL: usize = 16 * 1024;

/// A piece of a frame, or the status at the end.
type Piece = Result<Bytes, Status>;

/// The body, see the module. Ends with the status that it is given, or with OK.
pub(super) struct FrameBody {
    pieces: Fuse<BoxStream<'static, Piece>>,
    /// Received and not sent yet.
    next: Option<Piece>,
    is_over: bool,
}

impl FrameBody {
    pub(super) fn new(pieces: impl Stream<Item = Piece> + Send + 'static) -> Self {
        Self {
            pieces: pieces.boxed().fuse(),
            next: None,
            is_over: false,
        }
    }

    /// The next write: the first piece, and available ones behind it that fit.
    fn joined(&mut self, first: Bytes, context: &mut Context<'_>) -> Bytes {
        if first.len() >= FULL {
            return first;
        }
        self.look(context);
        if self.next.is_none() {
            return first;
        }
        let mut joined = BytesMut::with_capacity(FULL);
        joined.extend_from_slice(&first);
        while let Some(Ok(bytes)) = &self.next
            && joined.len() + bytes.len() <= FULL
        {
            joined.extend_from_slice(bytes);
            self.look(context);
        }
        joined.freeze()
    }

    /// Polls for another piece.
    fn look(&mut self, context: &mut Context<'_>) {
        self.next = match self.pieces.poll_next_unpin(context) {
            Poll::Ready(next) => next,
            Poll::Pending => None,
        };
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
            None => ready!(self.pieces.poll_next_unpin(context)),
        };
        let status = match next {
            Some(Ok(bytes)) => {
                let bytes = self.joined(bytes, context);
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
    use futures_util::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn small_frames_are_joined_and_large_ones_go_as_they_are() {
        let sizes = [1, 2, 3, FULL + 1, FULL - 1, 1, 1].into_iter();
        let pieces = sizes.map(|bytes| Ok(Bytes::from(vec![0; bytes])));
        let pieces = pieces.chain([Err(Status::aborted("so"))]);
        let mut body = FrameBody::new(stream::iter(pieces.collect::<Vec<_>>()));
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
    }
}
