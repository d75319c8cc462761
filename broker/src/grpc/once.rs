//! Calls with one message each way, for those that come often: what is read and answered are bytes, and no codec of tonic keeps
//! buffers between them and the transport.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hyper::body::{Body, Frame};
use prost::Message;
use tonic::{Status, codegen::http::HeaderMap};

/// What stands before a message in gRPC: that it is not compressed, and its length.
const HEADER: usize = 5;

/// Reads the one message of a request, of so many bytes at most.
///
/// # Errors
///
/// What the client is told.
pub(super) async fn read<R>(
    mut body: impl Body<Data = Bytes, Error = Status> + Unpin,
    most_bytes: usize,
) -> Result<R, Status>
where
    R: Message + Default,
{
    let mut whole = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        // Trailers say nothing here.
        let Ok(bytes) = frame?.into_data() else { break };
        whole.extend_from_slice(&bytes);
        if whole.len() > HEADER + most_bytes {
            return Err(Status::out_of_range(format!(
                "the request is larger than {most_bytes} bytes"
            )));
        }
    }
    if whole.len() < HEADER {
        return Err(Status::invalid_argument("the request is missing"));
    }
    let is_compressed = whole.get_u8() != 0;
    let length = usize::try_from(whole.get_u32()).unwrap_or(usize::MAX);
    if is_compressed {
        return Err(Status::unimplemented("compressed requests are not taken"));
    }
    if length != whole.len() {
        return Err(Status::invalid_argument(
            "the request is not one whole message",
        ));
    }
    R::decode(whole.freeze()).map_err(|error| Status::internal(error.to_string()))
}

/// An answer that went well.
#[derive(Debug)]
pub(super) struct Once {
    message: Option<Bytes>,
    is_over: bool,
}

impl Once {
    pub(super) fn new(message: &impl Message) -> Self {
        let length = message.encoded_len();
        let mut bytes = BytesMut::with_capacity(HEADER + length);
        bytes.put_u8(0);
        // What is longer was never taken.
        bytes.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        message.encode_raw(&mut bytes);
        Self {
            message: Some(bytes.freeze()),
            is_over: false,
        }
    }
}

impl Body for Once {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if std::mem::replace(&mut self.is_over, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::new();
        let added = Status::ok("").add_header(&mut trailers);
        Poll::Ready(Some(added.map(|()| Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::PublishResponse;
    use futures_util::stream;
    use http_body_util::{BodyExt as _, StreamBody};
    use tonic::Code;

    use super::*;

    fn sent() -> PublishResponse {
        PublishResponse {
            success: true,
            event_id: "e".repeat(300),
            ..PublishResponse::default()
        }
    }

    async fn in_pieces(bytes: &[u8], piece: usize, most: usize) -> Result<PublishResponse, Status> {
        let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice);
        let frames = pieces.map(|p| Ok(Frame::data(p)));
        read(StreamBody::new(stream::iter(frames)), most).await
    }

    async fn written() -> (Bytes, HeaderMap) {
        let whole = Once::new(&sent()).collect().await.expect("it is good");
        let trailers = whole.trailers().cloned().unwrap_or_default();
        (whole.to_bytes(), trailers)
    }

    #[tokio::test]
    async fn what_is_answered_can_be_read_in_pieces_of_any_size() {
        let (bytes, trailers) = written().await;
        assert_eq!(trailers["grpc-status"], "0");
        for piece in [1, 4, 5, 6, 1000] {
            let read = in_pieces(&bytes, piece, 1000).await;
            assert_eq!(read.expect("it is whole"), sent());
        }
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        let (bytes, _) = written().await;
        let check = async |bytes: &[u8], most: usize, expected: Code| {
            let refused = in_pieces(bytes, 7, most).await.expect_err("it is refused");
            assert_eq!(refused.code(), expected, "{refused}");
        };
        check(&[], 1000, Code::InvalidArgument).await;
        check(&bytes[..4], 1000, Code::InvalidArgument).await;
        check(&bytes[..bytes.len() - 1], 1000, Code::InvalidArgument).await;
        check(
            &[&bytes[..], &bytes[..]].concat(),
            1000,
            Code::InvalidArgument,
        )
        .await;
        check(&bytes, 100, Code::OutOfRange).await;
        check(&[&[1][..], &bytes[1..]].concat(), 1000, Code::Unimplemented).await;
        check(&[0, 0, 0, 0, 1, 0xff], 1000, Code::Internal).await;
    }
}
