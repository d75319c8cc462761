//! Publishes that need not be decoded: of a plain message the hub looks at its ids alone, and everything else goes on as it came.
//!
//! Plain is a message of no task, with text parts and nothing beside them. Whatever is not plain, or not well-formed, is
//! for the decoder to read or to refuse.

use agenthub_proto::a2a::Message;
use bytes::Bytes;
use prost::{
    Message as _,
    encoding::{WireType, decode_key, decode_varint},
};

use crate::limits;

/// A publish of a plain message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) sequence: u64,
    /// The message as it came, which is within its bounds.
    pub(crate) message: Bytes,
    pub(crate) message_id: Text,
    pub(crate) context_id: Text,
    /// The envelope as it came; not looked into.
    pub(crate) routing: Bytes,
}

/// Bytes that are UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(Bytes);

impl Text {
    fn new(bytes: Bytes) -> Option<Self> {
        std::str::from_utf8(&bytes).is_ok().then_some(Self(bytes))
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Plain {
    /// The message.
    pub(crate) fn decoded(&self) -> Option<Message> {
        Message::decode(self.message.clone()).ok()
    }

    /// Reads a `Publish` (`connect.proto`); `None` if it has to be decoded.
    pub(crate) fn read(publish: &Bytes) -> Option<Self> {
        let (mut sequence, mut message, mut routing) = (None, None, None);
        each(publish, |field, value| match (field, value) {
            (1, Value::Number(number)) => once(&mut sequence, number),
            (2, Value::Bytes(bytes)) => once(&mut message, bytes),
            (5, Value::Bytes(bytes)) => once(&mut routing, bytes),
            _ => None,
        })?;
        let message = message?;
        let (mut message_id, mut context_id, mut role) = (None, None, None);
        each(&message, |field, value| match (field, value) {
            (1, Value::Bytes(bytes)) => once(&mut message_id, Text::new(bytes)?),
            (2, Value::Bytes(bytes)) => once(&mut context_id, Text::new(bytes)?),
            (4, Value::Number(number)) => once(&mut role, number),
            (5, Value::Bytes(part)) => each(&part, |field, value| match (field, value) {
                (1, Value::Bytes(text)) => Text::new(text).map(|_| ()),
                _ => None,
            }),
            _ => None,
        })?;
        let (message_id, context_id) = (message_id?, context_id.unwrap_or_default());
        let is_in_bounds = message.len() <= limits::MESSAGE_BYTES
            && !message_id.as_str().is_empty()
            && limits::id("", message_id.as_str()).is_ok()
            && limits::id("", context_id.as_str()).is_ok();
        is_in_bounds.then(|| Self {
            sequence: sequence.unwrap_or_default(),
            message,
            message_id,
            context_id,
            routing: routing.unwrap_or_default(),
        })
    }
}

enum Value {
    Number(u64),
    Bytes(Bytes),
}

/// Hands over the fields of a message one by one, as long as they are wanted; `None` if one is not, or is not well-formed.
fn each(message: &Bytes, mut take: impl FnMut(u32, Value) -> Option<()>) -> Option<()> {
    let mut rest: &[u8] = message;
    while !rest.is_empty() {
        let (field, kind) = decode_key(&mut rest).ok()?;
        let number = decode_varint(&mut rest).ok()?;
        let value = match kind {
            WireType::Varint => Value::Number(number),
            WireType::LengthDelimited => {
                let (value, after) = rest.split_at_checked(usize::try_from(number).ok()?)?;
                rest = after;
                Value::Bytes(message.slice_ref(value))
            }
            _ => return None,
        };
        take(field, value)?;
    }
    Some(())
}

/// A field that is there twice is for the decoder to merge.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Part, Role, part::Part as Content},
        agenthub::{AgentEventMetadata, Publish, publish::Payload},
    };
    use proptest::prelude::*;

    use super::*;

    fn publish(message: Message) -> Publish {
        Publish {
            sequence: 7,
            payload: Some(Payload::Message(message)),
            routing: Some(AgentEventMetadata {
                event_type: "t".to_owned(),
                ..AgentEventMetadata::default()
            }),
        }
    }

    fn message() -> Message {
        Message {
            message_id: "m".to_owned(),
            context_id: "c".to_owned(),
            role: Role::User.into(),
            content: vec![Part::text("one"), Part::text("two")],
            ..Message::default()
        }
    }

    fn read(publish: &Publish) -> Option<Plain> {
        Plain::read(&publish.encode_to_vec().into())
    }

    #[test]
    fn of_a_plain_message_the_ids_are_read() {
        let publish = publish(message());
        let plain = read(&publish).expect("it is plain");
        assert_eq!(plain.sequence, 7);
        assert_eq!(plain.message_id.as_str(), "m");
        assert_eq!(plain.context_id.as_str(), "c");
        assert_eq!(Message::decode(plain.message), Ok(message()));
        let routing = AgentEventMetadata::decode(plain.routing);
        assert_eq!(routing.ok(), publish.routing);
    }

    #[test]
    fn what_is_more_than_plain_is_decoded() {
        let of = |change: fn(&mut Message)| {
            let mut message = message();
            change(&mut message);
            read(&publish(message))
        };
        assert!(of(|_| ()).is_some());
        assert_eq!(of(|m| m.task_id = "t".to_owned()), None);
        assert_eq!(of(|m| m.message_id.clear()), None);
        assert_eq!(of(|m| m.message_id = "\n".to_owned()), None);
        assert_eq!(of(|m| m.context_id = "x".repeat(300)), None);
        assert_eq!(of(|m| m.metadata = Some(Default::default())), None);
        assert_eq!(of(|m| m.extensions.push("e".to_owned())), None);
        assert_eq!(
            of(|m| m.content[0].metadata = Some(Default::default())),
            None
        );
        assert_eq!(
            of(|m| m.content[0].part = Some(Content::Data(Default::default()))),
            None
        );
        let status = Publish {
            payload: Some(Payload::StatusUpdate(Default::default())),
            ..publish(message())
        };
        assert_eq!(read(&status), None);
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let damaged = (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| {
            let mut bytes = publish(message()).encode_to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        });
        let twice = any::<prop::sample::Index>().prop_map(|at| {
            let bytes = publish(message()).encode_to_vec();
            [&bytes[..], &bytes[at.index(bytes.len())..]].concat()
        });
        prop_oneof![damaged, twice, prop::collection::vec(any::<u8>(), 0..40)]
    }

    proptest! {
        /// Subscribers decode what went through as it came: it must be what the decoder would have taken.
        #[test]
        fn what_is_plain_can_be_decoded(bytes in bytes()) {
            let bytes = Bytes::from(bytes);
            if let Some(plain) = Plain::read(&bytes) {
                let message = Message::decode(plain.message.clone()).expect("well-formed");
                prop_assert!(limits::message(&message).is_ok());
                prop_assert_eq!(message.message_id, plain.message_id.as_str());
                prop_assert_eq!(message.context_id, plain.context_id.as_str());
                prop_assert_eq!(message.task_id, "");
                if let Ok(publish) = Publish::decode(bytes) {
                    prop_assert_eq!(publish.sequence, plain.sequence);
                    prop_assert!(matches!(publish.payload, Some(Payload::Message(_))));
                }
            }
        }
    }
}
