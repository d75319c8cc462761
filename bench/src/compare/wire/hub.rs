//! Messages of the hub and its clients over `Connect`. Frames are neither decoded nor built field by field: counted
//! parts are found by their tags.

use std::sync::Arc;

use agenthub_sdk::proto::{
    agenthub::{AgentFrame, Credit, Durability, EventKind, Filter, Hello, Lifetime, Subscription},
    grpc::{HEADER, framed, header},
    http2,
};
use bytes::{BufMut as _, Bytes, BytesMut};
use prost::{
    Message,
    encoding::{
        DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
    },
};

use crate::compare::{
    message::{TOPIC, Template},
    tally::Tally,
};

/// Id of the publisher.
pub(in crate::compare) const PUBLISHER: &str = "publisher";

/// The RPC.
pub(super) const CONNECT: &str = "/agenthub.AgentHub/Connect";

/// Fields of the frames (`connect.proto`) and of an event (`events.proto`).
const PUBLISH: u32 = 2;
pub(in crate::compare) const EVENT: u32 = 3;
pub(in crate::compare) const RESULT: u32 = 4;
const POSITION: u32 = 40;
/// Field of an `Ack` with a position.
const ACKNOWLEDGED: u32 = 2;

/// Credit of a subscriber, and the deliveries after which it is renewed.
const CREDIT: u32 = 32_768;
const AGAIN: u32 = 8_192;

/// First frame of a subscriber with its own subscription for [`TOPIC`].
pub(super) fn subscriber(number: usize) -> Bytes {
    let subscription = Subscription {
        name: "bench".to_owned(),
        lifetime: Lifetime::Instance.into(),
        filter: Some(Filter {
            kinds: vec![EventKind::Message.into()],
            types: vec![TOPIC.to_owned()],
            ..Filter::default()
        }),
        credit: CREDIT,
        ..Subscription::default()
    };
    hello(Hello {
        subscription: vec![subscription],
        topics: vec![TOPIC.to_owned()],
        ..named(&format!("s{number}"))
    })
}

/// First frame of the publisher.
pub(super) fn publisher() -> Bytes {
    hello(named(PUBLISHER))
}

fn named(agent: &str) -> Hello {
    Hello {
        protocol_version: 1,
        agent_id: agent.to_owned(),
        instance_id: agent.to_owned(),
        ..Hello::default()
    }
}

fn hello(hello: Hello) -> Bytes {
    framed(&AgentFrame {
        hello: Some(hello),
        ..AgentFrame::default()
    })
}

/// The published message.
pub(super) fn template(text_bytes: usize, is_synced: bool) -> Template {
    let durability = match is_synced {
        true => Durability::Unspecified,
        false => Durability::Memory,
    };
    Template::publish(PUBLISHER, text_bytes, durability)
}

/// Adds a publish to a frame, and begins a frame with the first one.
pub(super) fn frame(publish: &[u8], buffer: &mut BytesMut) {
    if buffer.is_empty() {
        buffer.put_bytes(0, HEADER);
    }
    add(PUBLISH, publish, buffer);
}

/// True if a frame has no room for another publish of this size: as in the SDK, it fits into one HTTP/2 frame.
pub(super) fn is_full(buffer: &[u8], publish: &[u8]) -> bool {
    !buffer.is_empty() && buffer.len() + 2 * HEADER + publish.len() > http2::FRAME as usize
}

/// Appends a length-delimited field.
fn add(field: u32, value: &[u8], buffer: &mut BytesMut) {
    encode_key(field, WireType::LengthDelimited, buffer);
    encode_varint(value.len() as u64, buffer);
    buffer.put_slice(value);
}

/// Completes a frame of publishes in gRPC encoding.
pub(super) fn end(buffer: &mut BytesMut) {
    let header = header(buffer.len() - HEADER);
    buffer[..HEADER].copy_from_slice(&header);
}

/// Counts the results of publishes in a frame of the hub.
pub(super) fn results(frame: &[u8], tally: &Tally) {
    let mut count = 0;
    each(frame, RESULT, |_| count += 1);
    tally.acknowledged(count);
}

/// A subscriber's pending acknowledgements.
#[derive(Debug)]
pub(super) struct Deliveries {
    acknowledges: bool,
    tally: Arc<Tally>,
    used: u32,
    /// An `Ack` with the positions of handled deliveries.
    handled: BytesMut,
}

/// The delivery part of an `AgentFrame`, with encoded acknowledgements.
#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(bytes = "bytes", repeated, tag = "3")]
    ack: Vec<Bytes>,
    #[prost(message, repeated, tag = "6")]
    credit: Vec<Credit>,
}

impl Deliveries {
    pub(super) fn new(acknowledges: bool, tally: Arc<Tally>) -> Self {
        Self {
            acknowledges,
            tally,
            used: 0,
            handled: BytesMut::new(),
        }
    }

    /// Counts the events of a frame of the hub.
    pub(super) fn take(&mut self, frame: &[u8]) {
        let mut count = 0;
        each(frame, EVENT, |event| {
            count += 1;
            self.tally.message(event);
            if self.acknowledges {
                each(event, POSITION, |position| {
                    add(ACKNOWLEDGED, position, &mut self.handled);
                });
            }
        });
        self.tally.delivered(u64::from(count));
        self.used += count;
    }

    /// The next frame for the hub, if due, in gRPC encoding.
    pub(super) fn answer(&mut self) -> Option<Bytes> {
        let mut answer = Answer::default();
        if self.used >= AGAIN {
            answer.credit.push(Credit {
                subscription: 0,
                messages: std::mem::take(&mut self.used),
            });
        }
        if !self.handled.is_empty() {
            answer.ack.push(self.handled.split().freeze());
        }
        let is_due = !answer.credit.is_empty() || !answer.ack.is_empty();
        is_due.then(|| framed(&answer))
    }
}

/// Passes each value of a length-delimited field to `take`.
pub(in crate::compare) fn each(message: &[u8], field: u32, mut take: impl FnMut(&[u8])) {
    let mut rest = message;
    while let Ok((tag, kind)) = decode_key(&mut rest) {
        if tag == field && kind == WireType::LengthDelimited {
            let Some(length) = decode_varint(&mut rest)
                .ok()
                .and_then(|n| usize::try_from(n).ok())
            else {
                return;
            };
            let Some((value, after)) = rest.split_at_checked(length) else {
                return;
            };
            take(value);
            rest = after;
        } else if skip_field(kind, tag, &mut rest, DecodeContext::default()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::agenthub::{AgentEvent, HubFrame};

    use super::*;

    #[test]
    fn events_and_their_positions_are_found_by_their_tags() {
        let event = |position: &str| AgentEvent {
            event_id: "e".to_owned(),
            position: position.to_owned(),
            ..AgentEvent::default()
        };
        let frame = HubFrame {
            event: vec![event("p1"), event("p2")],
            publish_credit: 7,
            ..HubFrame::default()
        };
        let tally = Arc::new(Tally::new(false));
        let mut deliveries = Deliveries::new(true, Arc::clone(&tally));
        deliveries.take(&frame.encode_to_vec());
        assert_eq!(tally.deliveries(), 2);
        let answer = deliveries.answer().expect("events are acknowledged");
        let answer = AgentFrame::decode(&answer[HEADER..]).expect("a frame");
        assert_eq!(answer.ack[0].position, ["p1", "p2"]);
        assert!(answer.credit.is_empty(), "there is enough left");
        assert_eq!(deliveries.answer(), None);
    }
}
