//! The messages of a request, cut out of what the transport reads: one that came in one piece is not copied.

use std::{
    collections::VecDeque,
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

    /// The one message of a request.
    ///
    /// # Errors
    ///
    /// See [`next`](Self::next). There is none, or another, or it is not what the call takes.
    pub(super) async fn only<R: Message + Default>(&mut self) -> Result<R, Status> {
        let message = self.next().await?;
        let message = message.ok_or_else(|| Status::invalid_argument("the request is missing"))?;
        match self.next().await? {
            None => decoded(message),
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
                Some(Ok(bytes)) => self.held.push(bytes),
                _ if self.held.bytes == 0 => return Poll::Ready(Ok(None)),
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
    /// None of them is empty.
    pieces: VecDeque<Bytes>,
    bytes: usize,
}

impl Held {
    fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    /// The first message, if it is whole.
    fn cut(&mut self, most_bytes: usize) -> Result<Option<Bytes>, Status> {
        if self.bytes < HEADER {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        let first = self.pieces.iter().flat_map(|piece| piece.iter());
        for (to, from) in header.iter_mut().zip(first) {
            *to = *from;
        }
        let [is_compressed, length @ ..] = header;
        if is_compressed != 0 {
            return Err(Status::unimplemented("compressed messages are not taken"));
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > most_bytes {
            return Err(Status::out_of_range(format!(
                "a message has {length} bytes, of which {most_bytes} are taken at most"
            )));
        }
        if self.bytes - HEADER < length {
            return Ok(None);
        }
        self.take(HEADER);
        Ok(Some(self.take(length)))
    }

    /// As many bytes as there are at least.
    fn take(&mut self, count: usize) -> Bytes {
        self.bytes -= count;
        let taken = match self.pieces.front_mut() {
            Some(first) if first.len() >= count => first.split_to(count),
            _ => {
                let mut taken = BytesMut::with_capacity(count);
                for piece in &mut self.pieces {
                    let part = piece.len().min(count - taken.len());
                    taken.extend_from_slice(&piece[..part]);
                    piece.advance(part);
                }
                taken.freeze()
            }
        };
        self.pieces.retain(|piece| !piece.is_empty());
        taken
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::PublishResponse;
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
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
        let mut held = Held::default();
        held.push(piece.clone());
        let message = held.cut(100).expect("a message").expect("it is whole");
        assert_eq!(message.as_ptr(), piece[HEADER..].as_ptr());
        assert!(held.pieces.is_empty());
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
        check(&[&[1][..], &good[1..]].concat(), 100, Code::Unimplemented).await;
        let request = http::Request::builder().header("grpc-encoding", "gzip");
        let request = request.body(Body::empty()).expect("a request");
        let refused = Messages::of(request, 100).expect_err("it is refused");
        assert_eq!(refused.code(), Code::Unimplemented);
    }
}
