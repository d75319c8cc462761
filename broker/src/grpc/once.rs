//! Unary answers of frequent calls, as raw bytes: no codec of tonic buffers between them and the transport.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use agenthub_proto::grpc::framed;
use bytes::Bytes;
use hyper::body::{Body, Frame};
use prost::Message;
use tonic::Status;

use super::status::trailers;

/// A successful answer.
#[derive(Debug)]
pub(super) struct Once {
    message: Option<Bytes>,
    is_over: bool,
}

impl Once {
    pub(super) fn new(message: &impl Message) -> Self {
        Self {
            message: Some(framed(message)),
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
        Poll::Ready(Some(trailers(&Status::ok(""))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        agenthub::PublishResponse,
        grpc::{HEADER, header},
    };
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_a_message_and_that_it_went_well() {
        let answer = PublishResponse {
            success: true,
            event_id: "e".repeat(300),
            ..PublishResponse::default()
        };
        let whole = Once::new(&answer).collect().await.expect("it is good");
        assert_eq!(whole.trailers().expect("they come")["grpc-status"], "0");
        let bytes = whole.to_bytes();
        assert_eq!(bytes[..HEADER], header(bytes.len() - HEADER));
        assert_eq!(PublishResponse::decode(&bytes[HEADER..]), Ok(answer));
    }
}
