//! The frames of an agent as they come in, their publishes not decoded.

use agenthub_proto::{
    agenthub::{Ack, Credit, Extension, Goodbye, Heartbeat, Hello, Refusal},
    grpc::Messages,
};
use bytes::Bytes;
use futures_util::FutureExt;
use prost::Message;
use tonic::Status;

use super::request::decoded;

/// No more publishes are handled together once there are so many, or so many bytes of them.
const TOGETHER: usize = 256;
const TOGETHER_BYTES: usize = 256 * 1024;

/// An `AgentFrame` (`connect.proto`) whose publishes are bytes as they came.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RawFrame {
    // Only the first frame has one, and what waits for frames has room for one.
    #[prost(message, optional, boxed, tag = "1")]
    pub(super) hello: Option<Box<Hello>>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(super) publish: Vec<Bytes>,
    #[prost(message, repeated, tag = "3")]
    pub(super) ack: Vec<Ack>,
    #[prost(message, repeated, tag = "4")]
    pub(super) refuse: Vec<Refusal>,
    #[prost(message, repeated, tag = "5")]
    pub(super) extend: Vec<Extension>,
    #[prost(message, repeated, tag = "6")]
    pub(super) credit: Vec<Credit>,
    #[prost(message, optional, tag = "7")]
    pub(super) heartbeat: Option<Heartbeat>,
    #[prost(message, optional, tag = "8")]
    pub(super) goodbye: Option<Goodbye>,
}

impl RawFrame {
    fn publish_bytes(&self) -> usize {
        self.publish.iter().map(Bytes::len).sum()
    }

    /// Whether it holds publishes and nothing else.
    fn is_publishes(&self) -> bool {
        let Self {
            hello,
            publish,
            ack,
            refuse,
            extend,
            credit,
            heartbeat,
            goodbye,
        } = self;
        !publish.is_empty()
            && hello.is_none()
            && ack.is_empty()
            && refuse.is_empty()
            && extend.is_empty()
            && credit.is_empty()
            && heartbeat.is_none()
            && goodbye.is_none()
    }
}

/// The frames of a stream. Frames with publishes that come faster than they are handled are handled together.
#[derive(Debug)]
pub(super) struct Frames {
    messages: Messages,
    /// Came, and was not taken yet. Boxed, as every agent has room for one.
    next: Option<Box<Result<Option<RawFrame>, Status>>>,
}

impl Frames {
    pub(super) fn new(messages: Messages) -> Self {
        Self {
            messages,
            next: None,
        }
    }

    /// Has a frame come again.
    pub(super) fn put_back(&mut self, frame: RawFrame) {
        self.next = Some(Box::new(Ok(Some(frame))));
    }

    /// The next frame; `None` at the end. Nothing is lost when this is cancelled.
    ///
    /// # Errors
    ///
    /// See [`Messages::next`]; what comes is no frame.
    pub(super) async fn next(&mut self) -> Result<Option<RawFrame>, Status> {
        if self.next.is_none() {
            self.next = Some(Box::new(self.read().await));
        }
        if let Some(Ok(Some(frame))) = self.next.as_deref()
            && frame.is_publishes()
        {
            // All who have something to do go first: under load, more comes meanwhile.
            tokio::task::yield_now().await;
        }
        let Some(first) = self.next.take() else {
            return Ok(None);
        };
        let mut frame = match *first {
            Ok(Some(frame)) => frame,
            other => return other,
        };
        let mut bytes = frame.publish_bytes();
        while frame.publish.len() < TOGETHER
            && bytes < TOGETHER_BYTES
            && frame.is_publishes()
            && let Some(next) = self.read().now_or_never()
        {
            match next {
                Ok(Some(next)) if next.is_publishes() => {
                    bytes += next.publish_bytes();
                    frame.publish.extend(next.publish);
                }
                next => {
                    self.next = Some(Box::new(next));
                    break;
                }
            }
        }
        Ok(Some(frame))
    }

    async fn read(&mut self) -> Result<Option<RawFrame>, Status> {
        let message = self.messages.next().await?;
        message.map(decoded).transpose()
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::{AgentFrame, Publish};

    use super::*;

    /// A field that is added to the protocol has to be added here.
    #[test]
    fn a_raw_frame_is_a_frame_of_the_protocol() {
        let publish = Publish {
            sequence: 7,
            ..Publish::default()
        };
        let frame = AgentFrame {
            hello: Some(Hello::default()),
            publish: vec![publish.clone()],
            ack: vec![Ack::default()],
            refuse: vec![Refusal::default()],
            extend: vec![Extension::default()],
            credit: vec![Credit::default()],
            heartbeat: Some(Heartbeat {}),
            goodbye: Some(Goodbye::default()),
        };
        let raw = RawFrame::decode(&*frame.encode_to_vec()).expect("it is one");
        assert_eq!(raw.encode_to_vec(), frame.encode_to_vec());
        assert_eq!(Publish::decode(raw.publish[0].clone()), Ok(publish));
    }
}
