//! Plain messages: publishes that need not be decoded. The hub reads only the ids of a plain message, and passes
//! everything else on unchanged.
//!
//! A message is plain if it has no task, and text parts alone. Anything that is not plain, or malformed, is left to the
//! decoder.

use std::ops::Range;

use agenthub_proto::a2a::Message;
use bytes::Bytes;
use prost::{
    Message as _,
    encoding::{WireType, decode_key, decode_varint, encoded_len_varint},
};
use uuid::Uuid;

use crate::{dedupe, limits};

/// A publish of a plain message: its bytes, and the ranges of the needed fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    publish: Bytes,
    sequence: u64,
    /// Within its size limit.
    message: Range<usize>,
    /// Valid UTF-8, like the next one.
    message_id: Range<usize>,
    context_id: Range<usize>,
    /// Not parsed.
    routing: Range<usize>,
    /// True if encoding the message again would give the same bytes.
    is_canonical: bool,
}

impl Plain {
    /// Parses a `Publish` (`connect.proto`); `None` if it has to be decoded.
    pub(crate) fn read(publish: &Bytes) -> Option<Self> {
        let (mut sequence, mut message, mut routing) = (None, None, None);
        each(publish, 0..publish.len(), |field, value| {
            match (field, value) {
                (1, Value::Number(number)) => once(&mut sequence, number),
                (2, Value::Bytes(range)) => once(&mut message, range),
                (5, Value::Bytes(range)) => once(&mut routing, range),
                _ => None,
            }
        })?;
        let message = message?;
        let Ids {
            message_id,
            context_id,
            is_canonical,
        } = ids(publish, message.clone())?;
        Some(Self {
            publish: publish.clone(),
            sequence: sequence.unwrap_or_default(),
            message,
            message_id,
            context_id,
            routing: routing?,
            is_canonical,
        })
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The encoded message.
    pub(crate) fn message(&self) -> &[u8] {
        &self.publish[self.message.clone()]
    }

    /// The decoded message.
    pub(crate) fn decoded(&self) -> Option<Message> {
        Message::decode(self.publish.slice(self.message.clone())).ok()
    }

    pub(crate) fn message_id(&self) -> &str {
        std::str::from_utf8(&self.publish[self.message_id.clone()]).unwrap_or_default()
    }

    pub(crate) fn context_id(&self) -> &str {
        std::str::from_utf8(&self.publish[self.context_id.clone()]).unwrap_or_default()
    }

    /// True if both have the same context.
    pub(crate) fn shares_context(&self, other: &Self) -> bool {
        self.publish[self.context_id.clone()] == other.publish[other.context_id.clone()]
    }

    /// Digest of the message, independent of its encoding, and of its recipient.
    pub(crate) fn digest(&self, to: &str) -> Uuid {
        match self.is_canonical {
            true => dedupe::digest(self.message(), to),
            false => dedupe::digest(&self.decoded().unwrap_or_default().encode_to_vec(), to),
        }
    }

    /// The encoded envelope.
    pub(crate) fn routing(&self) -> &[u8] {
        &self.publish[self.routing.clone()]
    }
}

/// Ranges of the ids of a message and its context, and whether its encoding is canonical.
struct Ids {
    message_id: Range<usize>,
    context_id: Range<usize>,
    is_canonical: bool,
}

/// Parses a message; `None` if it is not plain.
fn ids(bytes: &[u8], message: Range<usize>) -> Option<Ids> {
    let (mut message_id, mut context_id, mut role) = (None, None, None);
    // Canonical encoding: fields in order, none of them empty, and the shortest lengths.
    let (mut last, mut is_canonical, mut shortest) = (0, true, 0);
    each(bytes, message.clone(), |field, value| {
        is_canonical &= last <= field;
        last = field;
        shortest += value.shortest();
        match (field, value) {
            (1, Value::Bytes(range)) => once(&mut message_id, range),
            (2, Value::Bytes(range)) => {
                is_canonical &= !range.is_empty();
                once(&mut context_id, range)
            }
            (4, Value::Number(number)) => {
                is_canonical &= number > 0 && i32::try_from(number).is_ok();
                once(&mut role, number)
            }
            (5, Value::Bytes(part)) => {
                let (mut texts, mut shortest) = (0, 0);
                each(bytes, part.clone(), |field, value| {
                    texts += 1;
                    shortest += value.shortest();
                    match (field, value) {
                        (1, Value::Bytes(range)) => text(bytes, range).map(|_| ()),
                        _ => None,
                    }
                })?;
                is_canonical &= texts <= 1 && shortest == part.len();
                Some(())
            }
            _ => None,
        }
    })?;
    let (message_id, context_id) = (message_id?, context_id.unwrap_or_default());
    let is_in_bounds = message.len() <= limits::MESSAGE_BYTES
        && !message_id.is_empty()
        && limits::id("", text(bytes, message_id.clone())?).is_ok()
        && limits::id("", text(bytes, context_id.clone())?).is_ok();
    is_in_bounds.then_some(Ids {
        message_id,
        context_id,
        is_canonical: is_canonical && shortest == message.len(),
    })
}

/// Strings are UTF-8.
fn text(bytes: &[u8], range: Range<usize>) -> Option<&str> {
    simdutf8::basic::from_utf8(&bytes[range]).ok()
}

enum Value {
    Number(u64),
    Bytes(Range<usize>),
}

impl Value {
    /// Minimum size of a field with this value, for field numbers below 16.
    fn shortest(&self) -> usize {
        match self {
            Self::Number(number) => 1 + encoded_len_varint(*number),
            Self::Bytes(range) => 1 + encoded_len_varint(range.len() as u64) + range.len(),
        }
    }
}

/// Passes the fields of a message in the bytes to `each`; `None` if it returns `None`, or a field is malformed.
fn each(
    bytes: &[u8],
    message: Range<usize>,
    mut take: impl FnMut(u32, Value) -> Option<()>,
) -> Option<()> {
    let end = message.end;
    let mut rest = &bytes[message];
    while !rest.is_empty() {
        let (field, kind) = decode_key(&mut rest).ok()?;
        let number = decode_varint(&mut rest).ok()?;
        let value = match kind {
            WireType::Varint => Value::Number(number),
            WireType::LengthDelimited => {
                let start = end - rest.len();
                let (value, after) = rest.split_at_checked(usize::try_from(number).ok()?)?;
                rest = after;
                Value::Bytes(start..start + value.len())
            }
            _ => return None,
        };
        take(field, value)?;
    }
    Some(())
}

/// A repeated field is left to the decoder, which merges it.
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
            ..Publish::default()
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
        assert_eq!(plain.sequence(), 7);
        assert_eq!(plain.message_id(), "m");
        assert_eq!(plain.context_id(), "c");
        assert_eq!(Message::decode(plain.message()), Ok(message()));
        assert_eq!(plain.decoded(), Some(message()));
        let routing = AgentEventMetadata::decode(plain.routing());
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
        let no_envelope = Publish {
            routing: None,
            ..publish(message())
        };
        assert_eq!(read(&no_envelope), None);
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

    /// Another encoder may write the same message differently; its digest is the same.
    #[test]
    fn the_digest_is_that_of_the_message_however_it_came() {
        let field = |number: u8, value: &[u8]| {
            let length = u8::try_from(value.len()).expect("short");
            [&[number << 3 | 2, length], value].concat()
        };
        let (id, context, text) = (field(1, b"m"), field(2, b"c"), field(1, b"text"));
        let (part, role, envelope) = (field(5, &text), [4 << 3, 1], field(5, b""));
        let read = |message: &[&[u8]]| {
            let publish = [field(2, &message.concat()), envelope.clone()].concat();
            Plain::read(&publish.into()).expect("it is plain")
        };
        let canonical = read(&[&id, &context, &role, &part]);
        assert!(canonical.is_canonical);
        let long_text = field(5, &[&[1 << 3 | 2, 0x84, 0], &b"text"[..]].concat());
        let twice = field(5, &[field(1, b"no"), text.clone()].concat());
        let large_role = [4 << 3, 0x81, 0x80, 0x80, 0x80, 0x10];
        let no_role = [4 << 3, 0];
        let others: [&[&[u8]]; 6] = [
            &[&context, &id, &role, &part],
            &[&id, &context, &part, &role],
            &[&id, &context, &role, &long_text],
            &[&id, &context, &role, &twice],
            &[&id, &context, &[4 << 3, 0x81, 0], &part],
            &[&id, &context, &large_role, &part],
        ];
        for other in others.map(read) {
            assert!(!other.is_canonical, "{other:?}");
            assert_eq!(other.digest(""), canonical.digest(""), "{other:?}");
        }
        let bare = read(&[&id]);
        assert!(bare.is_canonical);
        for empty in [&[&id[..], &field(2, b"")][..], &[&id, &no_role]] {
            assert_eq!(read(empty).digest(""), bare.digest(""));
        }
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
        /// Subscribers decode plain messages unchanged, so the decoder must accept every plain message.
        #[test]
        fn what_is_plain_can_be_decoded(bytes in bytes()) {
            let bytes = Bytes::from(bytes);
            if let Some(plain) = Plain::read(&bytes) {
                let message = Message::decode(plain.message()).expect("well-formed");
                prop_assert!(limits::message(&message).is_ok());
                prop_assert_eq!(&message.message_id, plain.message_id());
                prop_assert_eq!(&message.context_id, plain.context_id());
                prop_assert_eq!(&message.task_id, "");
                prop_assert_eq!(plain.digest("b"), dedupe::digest(&message.encode_to_vec(), "b"));
                if let Ok(publish) = Publish::decode(bytes) {
                    prop_assert_eq!(publish.sequence, plain.sequence());
                    prop_assert!(matches!(publish.payload, Some(Payload::Message(_))));
                }
            }
        }
    }
}
