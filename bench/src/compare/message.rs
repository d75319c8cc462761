//! Bytes of a message, equal for all systems: an event as the hub delivers it, with a text of this size.

use agenthub_sdk::proto::{
    a2a::{Message, Part, Role},
    agenthub::{
        AgentEvent, AgentEventMetadata, Durability, Publish, agent_event, publish::Payload,
    },
};
use prost::Message as _;

use super::tally::{STAMP, STAMP_DIGITS};

/// Topic of all messages.
pub(super) const TOPIC: &str = "bench";

/// Digits of a message's number.
const DIGITS: usize = 12;

/// First number, so that all take the same number of bytes on the wire.
const FIRST: u64 = 1 << 35;

/// Bytes of a varint from there on.
const VARINT: usize = 6;

/// A message whose copies differ only in number and time.
#[derive(Clone, Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    number: usize,
    stamp: usize,
    sequence: Option<usize>,
}

impl Template {
    /// A `Publish`, sent to the hub.
    pub(super) fn publish(sender: &str, text_bytes: usize, durability: Durability) -> Self {
        let publish = Publish {
            sequence: FIRST,
            payload: Some(Payload::Message(message(text_bytes))),
            routing: Some(AgentEventMetadata {
                durability: durability.into(),
                ..routing(sender)
            }),
            ..Publish::default()
        };
        let mut template = Self::of(publish.encode_to_vec());
        // `sequence` is the first field.
        template.sequence = Some(1);
        template
    }

    /// The event that the hub would deliver, sent to the other systems.
    pub(super) fn event(sender: &str, text_bytes: usize) -> Self {
        let event = AgentEvent {
            event_id: "0".repeat(36),
            routing: Some(routing(sender)),
            payload: Some(agent_event::Payload::Message(message(text_bytes))),
            ..AgentEvent::default()
        };
        Self::of(event.encode_to_vec())
    }

    fn of(bytes: Vec<u8>) -> Self {
        let find = |what: &[u8]| {
            let at = bytes.windows(what.len()).position(|w| w == what);
            at.expect("the template was built with it") + what.len()
        };
        Self {
            number: find(b"number-"),
            stamp: find(STAMP),
            sequence: None,
            bytes,
        }
    }

    /// Bytes of the message with this number.
    pub(super) fn number(&mut self, number: u64, stamp: Option<&str>) -> &[u8] {
        let mut rest = number;
        for digit in self.bytes[self.number..self.number + DIGITS]
            .iter_mut()
            .rev()
        {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
        if let Some(stamp) = stamp {
            self.bytes[self.stamp..self.stamp + STAMP_DIGITS].copy_from_slice(stamp.as_bytes());
        }
        if let Some(at) = self.sequence {
            let mut rest = FIRST + number;
            for (index, byte) in self.bytes[at..at + VARINT].iter_mut().enumerate() {
                let more = if index + 1 < VARINT { 0x80 } else { 0 };
                *byte = u8::try_from(rest & 0x7f).unwrap_or_default() | more;
                rest >>= 7;
            }
        }
        &self.bytes
    }
}

fn message(text_bytes: usize) -> Message {
    let stamp = format!("sent={}", "0".repeat(STAMP_DIGITS));
    let text = format!(
        "{stamp}{}",
        "x".repeat(text_bytes.saturating_sub(stamp.len()))
    );
    Message {
        message_id: format!("number-{}", "0".repeat(DIGITS)),
        role: Role::User.into(),
        content: vec![Part::text(text)],
        ..Message::default()
    }
}

fn routing(sender: &str) -> AgentEventMetadata {
    AgentEventMetadata {
        from_agent_id: sender.to_owned(),
        event_type: TOPIC.to_owned(),
        subscriptions: vec![TOPIC.to_owned()],
        ..AgentEventMetadata::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_another_message_of_the_same_size() {
        let mut template = Template::publish("p", 256, Durability::Memory);
        let size = template.number(0, None).len();
        for number in [0, 1, 999, 123_456_789] {
            let bytes = template.number(number, Some("000000000042"));
            assert_eq!(bytes.len(), size);
            let publish = Publish::decode(bytes).expect("a publish");
            assert_eq!(publish.sequence, FIRST + number);
            let Some(Payload::Message(message)) = publish.payload else {
                panic!("it is a message");
            };
            assert_eq!(message.message_id, format!("number-{number:012}"));
            let text = message.text();
            assert!(text.starts_with("sent=000000000042x"), "{text}");
            assert_eq!(text.len(), 256);
        }
    }
}
