//! The messages of a request, cut out of what the transport reads: one that came in one piece is not copied.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use hyper::body::Body as _;
use prost::Message;
use tonic::{Status, body::Body, codegen::http};

use crate::segment::HEADER;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Messages {
    body: Body,
    held: Held,
    most_bytes: usize,
}

impl Messages {
    /// The messages of a request, each of so many bytes at most.
    ///
    /// # Errors
    ///
    /// They are compressed.
    pub(super) fn of(request: http::Request<Body>, most_bytes: usize) -> Result<Self, Status> {
        let encoding = request.headers().get("grpc-encoding");
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(Status::unimplemented(
                "compressed messages are not taken; send them with grpc-encoding `identity`",
            ));
        }
        Ok(Self {
            body: request.into_body(),
            held: Held::default(),
            most_bytes,
        })
    }

    /// The next message; `None` at the end. Nothing is lost when this is cancelled.
    ///
    /// # Errors
    ///
    /// What comes is no message, or the peer is gone.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The first message.
    ///
    /// # Errors
    ///
    /// See [`next`](Self::next). There is none, or it is not what the call takes.
    pub(super) async fn first<R: Message + Default>(&mut self) -> Result<R, Status> {
        let message = self.next().await?;
        let message = message.ok_or_else(|| Status::invalid_argument("the request is missing"))?;
        decoded(message)
    }

    /// The one message of a request that has ended.
    ///
    /// # Errors
    ///
    /// See [`first`](Self::first). There is another.
    pub(super) async fn only<R: Message + Default>(&mut self) -> Result<R, Status> {
        let message = self.first().await?;
        match self.next().await? {
            None => Ok(message),
            Some(_) => Err(Status::invalid_argument(
                "the request has more than one message",
            )),
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Status>> {
        loop {
            if let Some(message) = self.held.cut(self.most_bytes)? {
                return Poll::Ready(Ok(Some(message)));
            }
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
            // Trailers say nothing here.
            match frame.transpose()?.map(hyper::body::Frame::into_data) {
                Some(Ok(bytes)) => self.held.piece = bytes,
                _ if self.held.is_empty() => return Poll::Ready(Ok(None)),
                _ => {
                    return Poll::Ready(Err(Status::invalid_argument(
                        "the request ends within a message",
                    )));
                }
            }
        }
    }
}

/// What a message says.
///
/// # Errors
///
/// It is no `R`.
pub(super) fn decoded<R: Message + Default>(message: Bytes) -> Result<R, Status> {
    R::decode(message).map_err(|e| Status::invalid_argument(format!("a message is malformed: {e}")))
}

/// What was read and not cut yet.
#[derive(Debug, Default)]
struct Held {
    /// The beginning of a message that goes on in the piece, copied: peers may send it in pieces as small as they like.
    begun: BytesMut,
    /// The last piece, without what was taken of it.
    piece: Bytes,
}

impl Held {
    fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.piece.is_empty()
    }

    /// The first message, if it is whole. If it is not, the piece has been used up.
    fn cut(&mut self, most_bytes: usize) -> Result<Option<Bytes>, Status> {
        if self.begun.is_empty()
            && let Some(header) = self.piece.first_chunk()
            && let Some(whole) = self.piece.get(..HEADER + length(*header, most_bytes)?)
        {
            let mut message = self.piece.split_to(whole.len());
            message.advance(HEADER);
            return Ok(Some(message));
        }
        self.copy(HEADER);
        let Some(header) = self.begun.first_chunk() else {
            return Ok(None);
        };
        let whole = HEADER + length(*header, most_bytes)?;
        self.copy(whole);
        Ok((self.begun.len() == whole).then(|| {
            let mut message = self.begun.split().freeze();
            message.advance(HEADER);
            message
        }))
    }

    /// Copies from the piece until so much is begun, as far as it goes.
    fn copy(&mut self, upto: usize) {
        let more = upto.saturating_sub(self.begun.len()).min(self.piece.len());
        self.begun.extend_from_slice(&self.piece.split_to(more));
    }
}

/// How long the message behind a header is.
fn length(header: [u8; HEADER], most_bytes: usize) -> Result<usize, Status> {
    let [is_compressed, length @ ..] = header;
    if is_compressed != 0 {
        return Err(Status::internal(
            "a message says that it is compressed, which its call has not announced",
        ));
    }
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > most_bytes {
        return Err(Status::out_of_range(format!(
            "a message has {length} bytes, of which {most_bytes} are taken at most"
        )));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::PublishResponse;
    use futures_util::{FutureExt as _, stream};
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::ReceiverStream;
    use tonic::Code;

    use super::*;
    use crate::segment::header;

    fn framed(message: &[u8]) -> Vec<u8> {
        [&header(message.len()), message].concat()
    }

    /// Messages that come in pieces of so many bytes.
    fn messages(bytes: &[u8], piece: usize, most: usize) -> Messages {
        let pieces: Vec<Bytes> = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
        let frames = pieces.into_iter().map(|p| Ok::<_, Status>(Frame::data(p)));
        let body = Body::new(StreamBody::new(stream::iter(frames)));
        Messages::of(http::Request::new(body), most).expect("they are not compressed")
    }

    #[tokio::test]
    async fn messages_are_read_in_pieces_of_any_size() {
        let long = vec![7; 300];
        let sent = [&b"one"[..], b"", &long, b"four"];
        let bytes = sent.map(framed).concat();
        for piece in [1, 4, 5, 6, 8, 100, 1000] {
            let mut messages = messages(&bytes, piece, 300);
            for expected in sent {
                let message = messages.next().await.expect("it is whole");
                assert_eq!(message.as_deref(), Some(expected), "in pieces of {piece}");
            }
            assert_eq!(messages.next().await.expect("the end"), None);
        }
    }

    #[tokio::test]
    async fn a_message_in_one_piece_is_not_copied() {
        let piece = Bytes::from(framed(b"message"));
        let mut held = Held {
            piece: piece.clone(),
            ..Held::default()
        };
        let message = held.cut(100).expect("a message").expect("it is whole");
        assert_eq!(message.as_ptr(), piece[HEADER..].as_ptr());
        assert!(held.is_empty());
    }

    #[tokio::test]
    async fn nothing_is_lost_when_reading_is_cancelled() {
        let bytes = Bytes::from(framed(b"message").repeat(2));
        let (tx, rx) = mpsc::channel(9);
        let body = Body::new(StreamBody::new(ReceiverStream::new(rx)));
        let messages = Messages::of(http::Request::new(body), 100);
        let mut messages = messages.expect("they are not compressed");
        for part in [0..3, 3..3, 3..8, 8..11, 11..24] {
            assert!(messages.next().now_or_never().is_none());
            let frame = Ok::<_, Status>(Frame::data(bytes.slice(part)));
            tx.send(frame).await.expect("it is read");
        }
        drop(tx);
        for _ in 0..2 {
            let message = messages.next().await.expect("it is whole");
            assert_eq!(message.as_deref(), Some(&b"message"[..]));
        }
        assert_eq!(messages.next().await.expect("the end"), None);
    }

    /// A peer decides how small the pieces are, and not what is kept for each.
    #[tokio::test]
    async fn what_is_not_whole_is_kept_as_it_is() {
        let bytes = framed(&[7; 1000]);
        let mut held = Held::default();
        for piece in bytes[..1000].chunks(1) {
            held.piece = Bytes::copy_from_slice(piece);
            assert_eq!(held.cut(1000).expect("good so far"), None);
            assert!(held.piece.is_empty());
        }
        assert!(held.begun.capacity() < 4 * 1000);
    }

    /// The end of a request may be told with trailers, which say nothing.
    #[tokio::test]
    async fn trailers_are_an_end() {
        let frames = [
            Frame::data(Bytes::from(framed(b"message"))),
            Frame::trailers(http::HeaderMap::new()),
        ];
        let frames = stream::iter(frames.map(Ok::<_, Status>));
        let body = Body::new(StreamBody::new(frames));
        let messages = Messages::of(http::Request::new(body), 100);
        let mut messages = messages.expect("they are not compressed");
        assert!(messages.next().await.expect("it is whole").is_some());
        assert!(messages.next().await.expect("the end").is_none());
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        let sent = PublishResponse {
            event_id: "event".to_owned(),
            ..PublishResponse::default()
        };
        let good = framed(&sent.encode_to_vec());
        let found: PublishResponse = messages(&good, 7, 100).only().await.expect("good");
        assert_eq!(found, sent);
        let check = async |bytes: &[u8], most: usize, expected: Code| {
            let refused = messages(bytes, 7, most).only::<PublishResponse>().await;
            let refused = refused.expect_err("it is refused");
            assert_eq!(refused.code(), expected, "{refused}");
        };
        check(&[], 100, Code::InvalidArgument).await;
        check(&good[..4], 100, Code::InvalidArgument).await;
        check(&good[..good.len() - 1], 100, Code::InvalidArgument).await;
        check(&good.repeat(2), 100, Code::InvalidArgument).await;
        check(&good, 6, Code::OutOfRange).await;
        check(&framed(&[0xff]), 100, Code::InvalidArgument).await;
        check(&[&[1][..], &good[1..]].concat(), 100, Code::Internal).await;
        let request = http::Request::builder().header("grpc-encoding", "gzip");
        let request = request.body(Body::empty()).expect("a request");
        let refused = Messages::of(request, 100).expect_err("it is refused");
        assert_eq!(refused.code(), Code::Unimplemented);
    }
}
