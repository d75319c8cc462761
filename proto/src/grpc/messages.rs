//! Messages of a request or a response, cut out of the transport's chunks: one that came in one chunk is not copied.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tonic::{
    Code, Status,
    body::Body,
    codegen::{
        Body as _,
        http::{HeaderMap, Request, Response, StatusCode},
    },
};

use super::MessageBuffer;

/// A stream of messages, see the module.
#[derive(Debug)]
pub struct Messages {
    body: Body,
    buffer: MessageBuffer,
    most_bytes: usize,
    side: Side,
}

/// Sender of the messages.
#[derive(Clone, Copy, Debug)]
enum Side {
    Client,
    /// True if the status, which comes last, was not in the headers.
    Server {
        owes_status: bool,
    },
}

impl Messages {
    /// The messages of a request, each of at most `most_bytes`.
    ///
    /// # Errors
    ///
    /// The messages are compressed.
    pub fn of_request(request: Request<Body>, most_bytes: usize) -> Result<Self, Status> {
        check_encoding(request.headers())?;
        Ok(Self {
            body: request.into_body(),
            buffer: MessageBuffer::default(),
            most_bytes,
            side: Side::Client,
        })
    }

    /// The messages of a response, each of at most `most_bytes`.
    ///
    /// # Errors
    ///
    /// The call has failed already, the server does not speak gRPC, or the messages are compressed.
    pub fn of_response(response: Response<Body>, most_bytes: usize) -> Result<Self, Status> {
        let status = Status::from_header_map(response.headers());
        let owes_status = status.is_none();
        match status {
            Some(status) if status.code() != Code::Ok => return Err(status),
            None if response.status() != StatusCode::OK => {
                return Err(no_grpc(response.status()));
            }
            _ => check_encoding(response.headers())?,
        }
        Ok(Self {
            body: response.into_body(),
            buffer: MessageBuffer::default(),
            most_bytes,
            side: Side::Server { owes_status },
        })
    }

    /// The next message; `None` at the end. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The bytes are no message, the peer is gone, or a response ends with an error or without a status.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Status>> {
        loop {
            if let Some(message) = self.buffer.cut(self.most_bytes)? {
                return Poll::Ready(Ok(Some(message)));
            }
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
            match frame.transpose()?.map(|frame| frame.into_data()) {
                Some(Ok(piece)) => self.buffer.put(piece),
                Some(Err(frame)) => {
                    let trailers = frame.into_trailers().ok();
                    return Poll::Ready(self.end(trailers.as_ref()).map(|()| None));
                }
                None => return Poll::Ready(self.end(None).map(|()| None)),
            }
        }
    }

    /// Result of the end of the stream.
    fn end(&mut self, trailers: Option<&HeaderMap>) -> Result<(), Status> {
        let is_cut_off = !self.buffer.is_empty();
        let Side::Server { owes_status } = &mut self.side else {
            // Trailers of a request have no meaning.
            return match is_cut_off {
                true => Err(Status::invalid_argument(
                    "the request ends within a message",
                )),
                false => Ok(()),
            };
        };
        // The missing status is reported once.
        let owed_status = std::mem::take(owes_status);
        match trailers.and_then(Status::from_header_map) {
            Some(status) if status.code() != Code::Ok => Err(status),
            _ if is_cut_off => Err(Status::internal("the response ends within a message")),
            None if owed_status => Err(Status::unknown("the response ends without a status")),
            _ => Ok(()),
        }
    }
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Status> {
    match headers.get("grpc-encoding") {
        Some(encoding) if encoding != "identity" => Err(Status::unimplemented(
            "compressed messages are not taken; send them with grpc-encoding `identity`",
        )),
        _ => Ok(()),
    }
}

/// The status for a response without a gRPC status
/// (<https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md>).
fn no_grpc(status: StatusCode) -> Status {
    let code = match status {
        StatusCode::BAD_REQUEST => Code::Internal,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::NOT_FOUND => Code::Unimplemented,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Code::Unavailable,
        _ => Code::Unknown,
    };
    Status::new(code, format!("the answer is no gRPC but HTTP {status}"))
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::ReceiverStream;
    use tonic::codegen::http::{HeaderName, HeaderValue};

    use super::{super::bytes_framed, *};

    type Frames = Vec<Result<Frame<Bytes>, Status>>;
    type Headers = [(&'static str, &'static str)];

    fn headers(headers: &Headers) -> HeaderMap {
        let header = |(name, value): &(&'static str, &'static str)| {
            let value = HeaderValue::from_static(value);
            (HeaderName::from_static(name), value)
        };
        headers.iter().map(header).collect()
    }

    /// The bytes in chunks of this size, followed by trailers, if any.
    fn frames(bytes: &[u8], piece: usize, trailers: Option<&Headers>) -> Frames {
        let data = |piece| Ok(Frame::data(Bytes::copy_from_slice(piece)));
        let trailers = trailers.map(|t| Ok(Frame::trailers(headers(t))));
        bytes.chunks(piece).map(data).chain(trailers).collect()
    }

    fn body(frames: Frames) -> Body {
        Body::new(StreamBody::new(stream::iter(frames)))
    }

    fn request(frames: Frames, most_bytes: usize) -> Messages {
        let messages = Messages::of_request(Request::new(body(frames)), most_bytes);
        messages.expect("they are not compressed")
    }

    fn response(frames: Frames, most_bytes: usize) -> Messages {
        let messages = Messages::of_response(Response::new(body(frames)), most_bytes);
        messages.expect("it does not fail at once")
    }

    /// Expects these messages, then the end.
    async fn check(mut messages: Messages, expected: &[&[u8]]) {
        for expected in expected {
            let message = messages.next().await.expect("it is whole");
            assert_eq!(message.as_deref(), Some(*expected));
        }
        for _ in 0..2 {
            assert_eq!(messages.next().await.expect("the end"), None);
        }
    }

    /// Expects one message, then an error.
    async fn check_error(mut messages: Messages, code: Code, says: &str) {
        let message = messages.next().await.expect("it is whole");
        assert_eq!(message.as_deref(), Some(&b"message"[..]));
        let error = messages.next().await.expect_err("it is an error");
        assert_eq!((error.code(), error.message()), (code, says));
    }

    #[tokio::test]
    async fn messages_are_read_in_pieces_of_any_size() {
        let long = vec![7; 300];
        let sent = [&b"one"[..], b"", &long, b"four"];
        let bytes = sent.map(bytes_framed).concat();
        for piece in [1, 4, 5, 6, 8, 100, 1000] {
            check(request(frames(&bytes, piece, None), 300), &sent).await;
            let frames = frames(&bytes, piece, Some(&[("grpc-status", "0")]));
            check(response(frames, 300), &sent).await;
        }
    }

    #[tokio::test]
    async fn nothing_is_lost_when_reading_is_cancelled() {
        let bytes = Bytes::from(bytes_framed(b"message").repeat(2));
        let (tx, rx) = mpsc::channel(9);
        let body = Body::new(StreamBody::new(ReceiverStream::new(rx)));
        let messages = Messages::of_response(Response::new(body), 100);
        let mut messages = messages.expect("it does not fail at once");
        for part in [0..3, 3..3, 3..8, 8..11, 11..24] {
            assert!(messages.next().now_or_never().is_none());
            let frame = Ok::<_, Status>(Frame::data(bytes.slice(part)));
            tx.send(frame).await.expect("it is read");
        }
        for _ in 0..2 {
            let message = messages.next().await.expect("it is whole");
            assert_eq!(message.as_deref(), Some(&b"message"[..]));
        }
        assert!(messages.next().now_or_never().is_none());
        let trailers = Frame::trailers(headers(&[("grpc-status", "14")]));
        tx.send(Ok(trailers)).await.expect("it is read");
        let error = messages.next().await.expect_err("it is an error");
        assert_eq!(error.code(), Code::Unavailable);
    }

    /// A request may end with trailers, which have no meaning.
    #[tokio::test]
    async fn trailers_of_a_request_are_an_end() {
        let message = bytes_framed(b"message");
        for trailers in [&[][..], &[("grpc-status", "13")]] {
            let frames = frames(&message, 100, Some(trailers));
            check(request(frames, 100), &[b"message"]).await;
        }
    }

    #[tokio::test]
    async fn a_response_ends_with_its_status() {
        let message = bytes_framed(b"message");
        let check = async |trailers: Option<&Headers>, code, says| {
            check_error(response(frames(&message, 7, trailers), 100), code, says).await;
        };
        let refused = [
            ("grpc-status", "9"),
            ("grpc-message", "an%20agent%20%C3%A4"),
        ];
        check(Some(&refused), Code::FailedPrecondition, "an agent ä").await;
        check(Some(&[("grpc-status", "14")]), Code::Unavailable, "").await;
        let says = "the response ends without a status";
        check(Some(&[]), Code::Unknown, says).await;
        check(None, Code::Unknown, says).await;
    }

    /// The cause is reported, not merely the truncation.
    #[tokio::test]
    async fn a_message_that_is_cut_off_is_an_error() {
        let bytes = bytes_framed(b"message").repeat(2);
        let bytes = &bytes[..bytes.len() - 1];
        let check = async |trailers: Option<&Headers>, code, says| {
            check_error(response(frames(bytes, 7, trailers), 100), code, says).await;
        };
        let says = "the response ends within a message";
        check(None, Code::Internal, says).await;
        check(Some(&[("grpc-status", "0")]), Code::Internal, says).await;
        check(Some(&[("grpc-status", "8")]), Code::ResourceExhausted, "").await;
        let says = "the request ends within a message";
        let request = request(frames(bytes, 7, None), 100);
        check_error(request, Code::InvalidArgument, says).await;
    }

    #[tokio::test]
    async fn an_error_of_the_transport_is_passed_on() {
        let mut frames = frames(&bytes_framed(b"message"), 7, None);
        frames.push(Err(Status::cancelled("gone")));
        check_error(response(frames, 100), Code::Cancelled, "gone").await;
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        let good = bytes_framed(b"message");
        let check = async |bytes: &[u8], most, code, says| {
            let bytes = [&good, bytes].concat();
            check_error(request(frames(&bytes, 7, None), most), code, says).await;
            check_error(response(frames(&bytes, 7, None), most), code, says).await;
        };
        let says = "a message has 8 bytes, of which 7 are taken at most";
        check(&bytes_framed(b"messages"), 7, Code::OutOfRange, says).await;
        let says = "a message says that it is compressed, which its call has not announced";
        check(&[&[1][..], &good[1..]].concat(), 100, Code::Internal, says).await;
    }

    #[test]
    fn compressed_messages_are_refused() {
        let check = |encoding: &'static str, expected: Option<Code>| {
            let (mut request, mut response) =
                (Request::new(Body::empty()), Response::new(Body::empty()));
            let encoding = headers(&[("grpc-encoding", encoding)]);
            request.headers_mut().extend(encoding.clone());
            response.headers_mut().extend(encoding);
            let refused = Messages::of_request(request, 100).err();
            assert_eq!(refused.map(|status| status.code()), expected);
            let refused = Messages::of_response(response, 100).err();
            assert_eq!(refused.map(|status| status.code()), expected);
        };
        check("gzip", Some(Code::Unimplemented));
        check("identity", None);
    }

    #[tokio::test]
    async fn a_response_may_be_its_status_alone() {
        let of = |status: &Headers| {
            let mut response = Response::new(Body::empty());
            response.headers_mut().extend(headers(status));
            Messages::of_response(response, 100)
        };
        let refused = [("grpc-status", "16"), ("grpc-message", "who%3F")];
        let refused = of(&refused).expect_err("it is refused");
        assert_eq!(refused.code(), Code::Unauthenticated);
        assert_eq!(refused.message(), "who?");
        check(of(&[("grpc-status", "0")]).expect("it is good"), &[]).await;
    }

    #[test]
    fn an_answer_that_is_no_grpc_is_an_error() {
        let check = |status: u16, trailers: &Headers, expected: Code| {
            let mut response = Response::new(body(frames(b"<html></html>", 100, None)));
            *response.status_mut() = StatusCode::from_u16(status).expect("it is one");
            response.headers_mut().extend(headers(trailers));
            let error = Messages::of_response(response, 100).expect_err("it is none");
            assert_eq!(error.code(), expected, "{error}");
        };
        check(400, &[], Code::Internal);
        check(401, &[], Code::Unauthenticated);
        check(403, &[], Code::PermissionDenied);
        check(404, &[], Code::Unimplemented);
        for status in [429, 502, 503, 504] {
            check(status, &[], Code::Unavailable);
        }
        check(204, &[], Code::Unknown);
        check(500, &[], Code::Unknown);
        check(500, &[("grpc-status", "5")], Code::NotFound);
    }
}
