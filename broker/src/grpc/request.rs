//! What the messages of a request say.

use agenthub_proto::grpc::Messages;
use bytes::Bytes;
use prost::Message;
use tonic::Status;

/// The first message.
///
/// # Errors
///
/// See [`Messages::next`]. There is none, or it is not what the call takes.
pub(super) async fn first<R: Message + Default>(messages: &mut Messages) -> Result<R, Status> {
    let message = messages.next().await?;
    decoded(message.ok_or_else(|| Status::invalid_argument("the request is missing"))?)
}

/// The one message of a request that has ended.
///
/// # Errors
///
/// See [`first`]. There is another.
pub(super) async fn only<R: Message + Default>(mut messages: Messages) -> Result<R, Status> {
    let message = first(&mut messages).await?;
    match messages.next().await? {
        None => Ok(message),
        Some(_) => Err(Status::invalid_argument(
            "the request has more than one message",
        )),
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

#[cfg(test)]
mod tests {
    use agenthub_proto::{agenthub::PublishResponse, grpc::header};
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use tonic::{Code, body::Body, codegen::http::Request};

    use super::*;

    fn framed(message: &[u8]) -> Vec<u8> {
        [&header(message.len()), message].concat()
    }

    /// Messages that come in pieces of so many bytes.
    fn messages(bytes: &[u8], piece: usize, most: usize) -> Messages {
        let pieces: Vec<Bytes> = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
        let frames = pieces.into_iter().map(|p| Ok::<_, Status>(Frame::data(p)));
        let body = Body::new(StreamBody::new(stream::iter(frames)));
        Messages::of_request(Request::new(body), most).expect("they are not compressed")
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        let sent = PublishResponse {
            event_id: "event".to_owned(),
            ..PublishResponse::default()
        };
        let good = framed(&sent.encode_to_vec());
        let found: PublishResponse = only(messages(&good, 7, 100)).await.expect("good");
        assert_eq!(found, sent);
        let check = async |bytes: &[u8], most: usize, expected: Code| {
            let refused = only::<PublishResponse>(messages(bytes, 7, most)).await;
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
    }
}
