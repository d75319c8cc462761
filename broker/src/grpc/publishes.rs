//! The publishes of a frame, those together that can pass together.

use std::sync::Arc;

use agenthub_proto::agenthub::{
    Ack, Credit, Extension, Goodbye, Heartbeat, Hello, Publish, Refusal,
};
use bytes::Bytes;
use futures_util::FutureExt;
use prost::Message;
use tonic::{Status, Streaming};

use crate::{
    hub::{Envelope, Run},
    plain::Plain,
};

/// No more publishes are handled together once there are so many.
const TOGETHER: usize = 256;

/// An `AgentFrame` (`connect.proto`) whose publishes are bytes as they came.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RawFrame {
    #[prost(message, optional, tag = "1")]
    pub(super) hello: Option<Hello>,
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
    stream: Streaming<RawFrame>,
    /// Came, and was not taken yet.
    next: Option<Result<Option<RawFrame>, Status>>,
}

impl Frames {
    pub(super) fn new(stream: Streaming<RawFrame>) -> Self {
        Self { stream, next: None }
    }

    /// The next frame; `None` at the end. Nothing is lost when this is cancelled.
    ///
    /// # Errors
    ///
    /// See [`Streaming::message`].
    pub(super) async fn next(&mut self) -> Result<Option<RawFrame>, Status> {
        if self.next.is_none() {
            self.next = Some(self.stream.message().await);
        }
        if let Some(Ok(Some(frame))) = &self.next
            && frame.is_publishes()
        {
            // All who have something to do go first: under load, more comes meanwhile.
            tokio::task::yield_now().await;
        }
        let Some(first) = self.next.take() else {
            return Ok(None);
        };
        let Ok(Some(mut frame)) = first else {
            return first;
        };
        while frame.publish.len() < TOGETHER
            && frame.is_publishes()
            && let Some(next) = self.stream.message().now_or_never()
        {
            match next {
                Ok(Some(next)) if next.is_publishes() => frame.publish.extend(next.publish),
                next => {
                    self.next = Some(next);
                    break;
                }
            }
        }
        Ok(Some(frame))
    }
}

/// What is published at a time.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(super) enum Item {
    One(Publish),
    Run(Run),
}

/// The envelopes of an agent's publishes. The last one is remembered, as most publishes have that of the one before.
#[derive(Debug, Default)]
pub(super) struct Envelopes(Option<(Bytes, Option<Arc<Envelope>>)>);

impl Envelopes {
    /// The envelope of publishes that pass.
    fn passing(&mut self, agent: &str, came: &Bytes) -> Option<Arc<Envelope>> {
        if let Some((last, envelope)) = &self.0
            && last == came
        {
            return envelope.clone();
        }
        let envelope = Envelope::passing(agent, came).map(Arc::new);
        // A copy, so that it does not keep the frame.
        self.0 = Some((Bytes::copy_from_slice(came), envelope.clone()));
        envelope
    }

    /// The publishes of a frame, in their order.
    ///
    /// # Errors
    ///
    /// One of them is no `Publish`.
    pub(super) fn gather(
        &mut self,
        agent: &str,
        publishes: Vec<Bytes>,
    ) -> Result<Vec<Item>, prost::DecodeError> {
        let mut items = Vec::new();
        let mut passing: Vec<(Plain, Arc<Envelope>)> = Vec::new();
        for bytes in publishes {
            let plain = Plain::read(&bytes);
            let with_envelope = plain.and_then(|plain| {
                let envelope = self.passing(agent, &plain.routing)?;
                Some((plain, envelope))
            });
            match with_envelope {
                Some((plain, envelope)) => {
                    if passing
                        .last()
                        .is_some_and(|(_, last)| !Arc::ptr_eq(last, &envelope))
                    {
                        items.extend(runs(std::mem::take(&mut passing)));
                    }
                    passing.push((plain, envelope));
                }
                None => {
                    items.extend(runs(std::mem::take(&mut passing)));
                    items.push(Item::One(Publish::decode(bytes)?));
                }
            }
        }
        items.extend(runs(passing));
        Ok(items)
    }
}

/// Publishes with one envelope.
fn runs(passing: Vec<(Plain, Arc<Envelope>)>) -> Vec<Item> {
    let Some(envelope) = passing.first().map(|(_, envelope)| envelope.clone()) else {
        return Vec::new();
    };
    let mut plain = passing.into_iter().map(|(plain, _)| plain).peekable();
    std::iter::from_fn(|| Run::first(&envelope, &mut plain))
        .map(Item::Run)
        .collect()
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message as Said, Role},
        agenthub::{AgentEventMetadata, AgentFrame, Durability, publish::Payload},
    };

    use super::*;

    /// A field that is added to the protocol has to be added here.
    #[test]
    fn a_raw_frame_is_a_frame_of_the_protocol() {
        let frame = AgentFrame {
            hello: Some(Hello::default()),
            publish: vec![publish("m", "c", &routing())],
            ack: vec![Ack::default()],
            refuse: vec![Refusal::default()],
            extend: vec![Extension::default()],
            credit: vec![Credit::default()],
            heartbeat: Some(Heartbeat {}),
            goodbye: Some(Goodbye::default()),
        };
        let raw = RawFrame::decode(&*frame.encode_to_vec()).expect("it is one");
        assert_eq!(raw.encode_to_vec(), frame.encode_to_vec());
        let publish = Publish::decode(raw.publish[0].clone());
        assert_eq!(publish.as_ref(), Ok(&frame.publish[0]));
    }

    fn routing() -> AgentEventMetadata {
        AgentEventMetadata {
            event_type: "t".to_owned(),
            durability: Durability::Memory.into(),
            ..AgentEventMetadata::default()
        }
    }

    fn publish(id: &str, context: &str, routing: &AgentEventMetadata) -> Publish {
        Publish {
            sequence: 1,
            payload: Some(Payload::Message(Said {
                message_id: id.to_owned(),
                context_id: context.to_owned(),
                ..Said::new(Role::User, "text")
            })),
            routing: Some(routing.clone()),
        }
    }

    /// The ids of what is published together.
    fn gathered(publishes: &[Publish]) -> Vec<Vec<String>> {
        let bytes = publishes.iter().map(|p| p.encode_to_vec().into());
        let items = Envelopes::default().gather("a", bytes.collect());
        let id = |publish: Publish| match publish.payload {
            Some(Payload::Message(said)) => said.message_id,
            _ => String::new(),
        };
        let ids = items
            .expect("well-formed")
            .into_iter()
            .map(|item| match item {
                Item::One(publish) => vec![format!("{} alone", id(publish))],
                Item::Run(run) => run.one_by_one().map(id).collect(),
            });
        ids.collect()
    }

    #[test]
    fn what_may_be_lost_goes_together_as_long_as_it_is_alike() {
        let with = |change: fn(&mut AgentEventMetadata)| {
            let mut routing = routing();
            change(&mut routing);
            routing
        };
        let same = routing();
        let other = with(|r| r.event_type = "u".to_owned());
        let safe = with(|r| r.durability = 0);
        let anothers = with(|r| r.from_agent_id = "b".to_owned());
        let keyed = with(|r| r.idempotency_key = "k".to_owned());
        let publishes = [
            publish("1", "c", &same),
            publish("2", "c", &same),
            publish("3", "d", &same),
            publish("4", "d", &other),
            publish("5", "d", &safe),
            publish("6", "d", &other),
            publish("7", "d", &anothers),
            publish("8", "d", &keyed),
            publish("9", "d", &other),
            publish("10", "d", &other),
        ];
        let expected: [&[&str]; 8] = [
            &["1", "2"],
            &["3"],
            &["4"],
            &["5 alone"],
            &["6"],
            &["7 alone"],
            &["8 alone"],
            &["9", "10"],
        ];
        assert_eq!(gathered(&publishes), expected);
    }

    #[test]
    fn what_is_no_publish_is_refused() {
        let refused = Envelopes::default().gather("a", vec![Bytes::from_static(b"\x12\xff")]);
        assert!(refused.is_err());
    }
}
