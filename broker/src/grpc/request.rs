//! Messages of requests.

use agenthub_proto::{
    grpc::{Messages, header},
    weight::MemoryBudget,
};
use bytes::Bytes;
use http_body_util::Full;
use prost::Message;
use tonic::{Status, body::Body, codegen::http::Request};

use super::timely::Timely;

/// Extent of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The first message, whatever follows.
    First,
    /// The only message, once the request has ended: nothing is decoded for a peer that keeps it open.
    Only,
}

/// Reads the message of a request, limited in its encoded and decoded size.
///
/// # Errors
///
/// See [`Messages::next`]. There is no message, it does not arrive in time, it consists of too many parts, or there is
/// another one.
pub(super) async fn message(
    mut request: Request<Body>,
    most_bytes: usize,
    extent: Extent,
) -> Result<Bytes, Status> {
    let uri = std::mem::take(request.uri_mut());
    let request = request.map(|body| Body::new(Timely::new(body)));
    let mut messages = Messages::of_request(request, most_bytes)?;
    let message = messages.next().await?;
    let message = message.ok_or_else(|| Status::invalid_argument("the request is missing"))?;
    if extent == Extent::Only && messages.next().await?.is_some() {
        return Err(Status::invalid_argument(
            "the request has more than one message",
        ));
    }
    if !MemoryBudget::for_bytes(message.len()).takes_call(uri.path(), &message) {
        return Err(Status::invalid_argument(
            "the request consists of too many parts",
        ));
    }
    Ok(message)
}

/// Reads a whole request, for a service that decodes it itself.
///
/// # Errors
///
/// See [`message`].
pub(super) async fn whole(
    request: Request<Body>,
    most_bytes: usize,
) -> Result<Request<Body>, Status> {
    let (parts, body) = request.into_parts();
    let mut reading = Request::new(body);
    *reading.uri_mut() = parts.uri.clone();
    *reading.headers_mut() = parts.headers.clone();
    let message = message(reading, most_bytes, Extent::Only).await?;
    let framed = Bytes::from([&header(message.len()), &*message].concat());
    Ok(Request::from_parts(parts, Body::new(Full::new(framed))))
}

/// Decodes a message.
///
/// # Errors
///
/// It is not an `R`.
pub(super) fn decoded<R: Message + Default>(message: Bytes) -> Result<R, Status> {
    R::decode(message).map_err(|e| Status::invalid_argument(format!("a message is malformed: {e}")))
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message as Said, Part},
        agenthub::{PublishMessageRequest, PublishResponse},
    };
    use futures_util::stream;
    use http_body_util::{BodyExt as _, StreamBody};
    use hyper::body::Frame;
    use tonic::Code;

    use super::*;

    fn framed(message: &[u8]) -> Vec<u8> {
        [&header(message.len()), message].concat()
    }

    /// A request in chunks of this size.
    fn request(bytes: &[u8], piece: usize) -> Request<Body> {
        let pieces: Vec<Bytes> = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
        let frames = pieces.into_iter().map(|p| Ok::<_, Status>(Frame::data(p)));
        let mut request = Request::new(Body::new(StreamBody::new(stream::iter(frames))));
        *request.uri_mut() = "/agenthub.AgentHub/PublishMessage".parse().expect("a path");
        request
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        let sent = PublishResponse {
            event_id: "event".to_owned(),
            ..PublishResponse::default()
        };
        let good = framed(&sent.encode_to_vec());
        let only = async |bytes: &[u8], most: usize| {
            let message = message(request(bytes, 7), most, Extent::Only).await?;
            decoded::<PublishResponse>(message)
        };
        assert_eq!(only(&good, 100).await.expect("good"), sent);
        let check = async |bytes: &[u8], most: usize, expected: Code| {
            let refused = only(bytes, most).await.expect_err("it is refused");
            assert_eq!(refused.code(), expected, "{refused}");
        };
        check(&[], 100, Code::InvalidArgument).await;
        check(&good[..4], 100, Code::InvalidArgument).await;
        check(&good[..good.len() - 1], 100, Code::InvalidArgument).await;
        check(&good.repeat(2), 100, Code::InvalidArgument).await;
        check(&good, 6, Code::OutOfRange).await;
        check(&framed(&[0xff]), 100, Code::InvalidArgument).await;
        check(&[&[1][..], &good[1..]].concat(), 100, Code::Internal).await;
        let first = message(request(&good.repeat(2), 7), 100, Extent::First).await;
        let first = decoded::<PublishResponse>(first.expect("good"));
        assert_eq!(first.expect("good"), sent);
    }

    /// promise 10
    #[tokio::test]
    async fn a_request_that_would_take_too_much_memory_is_refused() {
        let with = |content| {
            let message = Said {
                content,
                ..Said::default()
            };
            let publish = PublishMessageRequest {
                message: Some(message),
                routing: None,
                ..Default::default()
            };
            framed(&publish.encode_to_vec())
        };
        let read = async |bytes: &[u8]| {
            let read = message(request(bytes, 16 * 1024), 1024 * 1024, Extent::Only).await;
            read.map(|message| framed(&message)).map_err(|e| e.code())
        };
        let (large, heavy) = (
            with(vec![Part::text("x".repeat(500_000))]),
            with(vec![Part::default(); 200_000]),
        );
        assert_eq!(read(&large).await, Ok(large.clone()));
        assert_eq!(read(&heavy).await, Err(Code::InvalidArgument));
        let whole = whole(request(&large, 7), 1024 * 1024).await;
        let body = whole.expect("it is good").into_body().collect().await;
        assert_eq!(body.expect("it is good").to_bytes(), large);
    }
}
