//! Estimates the memory of a decoded message from its bytes: an empty element of a list has two bytes on the wire and
//! more than a hundred in memory.

use std::{collections::HashMap, sync::LazyLock};

use prost::{
    Message, Name,
    encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field},
};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor};

use crate::json;

/// Requests up to this size are not estimated: they cannot become large.
const LIGHT_BYTES: usize = 64 * 1024;
/// Memory limit of decoded messages: this many bytes, and
const FREE_BYTES: usize = 4 * 1024 * 1024;
/// this many for each of their own bytes.
const PER_BYTE: usize = 4;
/// Size of an empty text, list or map.
const EMPTY: usize = 24;
/// Recursion limit of decoders.
const DEPTH: usize = 100;

/// Memory left for messages that are decoded together.
#[derive(Debug)]
pub struct MemoryBudget {
    /// `None` for messages that are too small to be estimated.
    left: Option<usize>,
}

impl MemoryBudget {
    /// The memory limit for messages of this total size.
    pub fn for_bytes(bytes: usize) -> Self {
        let weighed = bytes > LIGHT_BYTES;
        Self {
            left: weighed.then(|| FREE_BYTES + PER_BYTE * bytes),
        }
    }

    /// Takes the memory of a decoded message. `false` if there is not enough. Malformed bytes take little: the decoder
    /// reports the error.
    pub fn takes<M: Message + Name>(&mut self, message: &[u8]) -> bool {
        self.takes_shape(|| SHAPES.index.get(&M::full_name()).copied(), message)
    }

    /// Like `takes`, for the request of a call, given as the path `/package.Service/Method`. Unknown calls decode
    /// nothing.
    pub fn takes_call(&mut self, path: &str, request: &[u8]) -> bool {
        self.takes_shape(|| SHAPES.calls.get(path).copied(), request)
    }

    fn takes_shape(&mut self, shape: impl FnOnce() -> Option<usize>, message: &[u8]) -> bool {
        let Some(left) = &mut self.left else {
            return true;
        };
        let Some(shape) = shape() else {
            return true;
        };
        let mut rest = *left;
        let fits = take(&mut rest, SHAPES.all[shape].bytes).is_some()
            && inside(shape, message, &mut rest, DEPTH).is_some();
        if fits {
            *left = rest;
        }
        fits
    }
}

fn take(left: &mut usize, bytes: usize) -> Option<()> {
    *left = left.checked_sub(bytes)?;
    Some(())
}

/// Takes the memory of a message's fields; `None` once there is not enough.
fn inside(shape: usize, mut message: &[u8], left: &mut usize, depth: usize) -> Option<()> {
    let fields = &SHAPES.all[shape].fields;
    while !message.is_empty() {
        let Ok((field, kind)) = decode_key(&mut message) else {
            return Some(());
        };
        let known = fields.get(&field);
        if kind != WireType::LengthDelimited {
            take(left, known.map_or(0, |f| f.element))?;
            if skip_field(kind, field, &mut message, DecodeContext::default()).is_err() {
                return Some(());
            }
            continue;
        }
        let length = decode_varint(&mut message).ok();
        let length = length.and_then(|l| usize::try_from(l).ok());
        let Some((value, rest)) = length.and_then(|l| message.split_at_checked(l)) else {
            return Some(());
        };
        message = rest;
        let Some(known) = known else { continue };
        match known.inner {
            Inner::Message(shape) => {
                take(left, known.element)?;
                if depth > 0 {
                    inside(shape, value, left, depth - 1)?;
                }
            }
            Inner::Text => take(left, known.element + value.len())?,
            // A packed number has at least one byte.
            Inner::Number => take(left, known.element * value.len())?,
        }
    }
    Some(())
}

/// Memory layouts of all message types.
struct Shapes {
    all: Vec<Shape>,
    /// Index by name.
    index: HashMap<String, usize>,
    /// Index of request types by the paths of their calls.
    calls: HashMap<String, usize>,
}

/// Memory layout of a message type.
#[derive(Default)]
struct Shape {
    /// Size of the message struct, in bytes.
    bytes: usize,
    fields: HashMap<u32, Field>,
}

struct Field {
    /// Memory for one more value, in bytes: 0 if it has its place in the struct.
    element: usize,
    inner: Inner,
}

enum Inner {
    Message(usize),
    Text,
    Number,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let messages: Vec<MessageDescriptor> = json::POOL.all_messages().collect();
    let name = |m: &MessageDescriptor| m.full_name().to_owned();
    let index: HashMap<String, usize> = messages.iter().map(name).zip(0..).collect();
    let shape = |message: &MessageDescriptor| Shape {
        bytes: message_bytes(message),
        fields: message
            .fields()
            .map(|f| (f.number(), field(&f, &index)))
            .collect(),
    };
    let services: Vec<_> = json::POOL.services().collect();
    let calls = services.iter().flat_map(|service| {
        let path = |m: &str| format!("/{}/{m}", service.full_name());
        let call = |m: MethodDescriptor| (path(m.name()), index[m.input().full_name()]);
        service.methods().map(call).collect::<Vec<_>>()
    });
    Shapes {
        calls: calls.collect(),
        all: messages.iter().map(shape).collect(),
        index,
    }
});

fn field(field: &FieldDescriptor, index: &HashMap<String, usize>) -> Field {
    let kind = field.kind();
    let inner = match &kind {
        Kind::Message(message) => Inner::Message(index[message.full_name()]),
        Kind::String | Kind::Bytes => Inner::Text,
        _ => Inner::Number,
    };
    Field {
        element: match field.is_list() || field.is_map() {
            true => value_bytes(&kind),
            false => 0,
        },
        inner,
    }
}

/// Estimated size of the generated type: of alternatives the largest counts.
fn message_bytes(message: &MessageDescriptor) -> usize {
    let alone = message.fields().filter(|f| f.containing_oneof().is_none());
    let oneofs = message.oneofs().map(|oneof| {
        let fields = oneof.fields().map(|f| field_bytes(&f));
        fields.max().unwrap_or_default()
    });
    alone.map(|f| field_bytes(&f)).chain(oneofs).sum()
}

fn field_bytes(field: &FieldDescriptor) -> usize {
    match field.is_list() || field.is_map() {
        true => EMPTY,
        false => value_bytes(&field.kind()),
    }
}

fn value_bytes(kind: &Kind) -> usize {
    match kind {
        Kind::String | Kind::Bytes => EMPTY,
        Kind::Message(message) => message_bytes(message),
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        a2a::{AgentCard, AgentSkill, Message as Said, Part},
        agenthub::{Ack, Hello, Publish, PublishResult, Subscription},
        wkt,
    };

    /// The estimate is close to the compiler's layout.
    #[test]
    fn types_are_about_as_large_as_they_are() {
        fn check<M: Name>() {
            let shape = &SHAPES.all[SHAPES.index[&M::full_name()]];
            let real = size_of::<M>();
            assert!(
                shape.bytes <= 2 * real && real <= 2 * shape.bytes,
                "{}: {} instead of {real}",
                M::full_name(),
                shape.bytes
            );
        }
        check::<Part>();
        check::<Said>();
        check::<Publish>();
        check::<Hello>();
        check::<Subscription>();
        check::<AgentCard>();
        check::<AgentSkill>();
        check::<PublishResult>();
        check::<Ack>();
    }

    fn publish(message: Said) -> Vec<u8> {
        let payload = Some(crate::agenthub::publish::Payload::Message(message));
        let publish = Publish {
            payload,
            ..Publish::default()
        };
        publish.encode_to_vec()
    }

    fn fits(publish: &[u8]) -> bool {
        MemoryBudget::for_bytes(publish.len()).takes::<Publish>(publish)
    }

    #[test]
    fn many_small_things_are_too_heavy_and_few_large_ones_are_not() {
        let with = |content: Vec<Part>| {
            publish(Said {
                content,
                ..Said::default()
            })
        };
        let list = |value: wkt::Kind, count| {
            let value = wkt::Value { kind: Some(value) };
            let values = vec![value; count];
            let list = wkt::Kind::ListValue(wkt::ListValue { values });
            let fields = [("k".to_owned(), wkt::Value { kind: Some(list) })].into();
            let data = Some(wkt::Struct { fields });
            let data = crate::a2a::part::Part::Data(crate::a2a::DataPart {
                data,
                ..Default::default()
            });
            with(vec![Part {
                part: Some(data),
                ..Part::default()
            }])
        };
        assert!(!fits(&with(vec![Part::default(); 500_000])));
        assert!(fits(&with(vec![Part::text("x"); 50_000])));
        assert!(fits(&with(vec![Part::text("x".repeat(1_000_000))])));
        // The number of values that a message of 1 MiB holds.
        assert!(fits(&list(wkt::Kind::NumberValue(1.5), 95_000)));
        assert!(fits(&list(wkt::Kind::BoolValue(true), 200_000)));
        assert!(fits(&list(wkt::Kind::StringValue("a".to_owned()), 140_000)));
        assert!(!fits(&list(wkt::Kind::NullValue(0), 1_000_000)));
    }

    #[test]
    fn messages_share_their_room() {
        let one = publish(Said {
            content: vec![Part::default(); 30_000],
            ..Said::default()
        });
        let mut room = MemoryBudget::for_bytes(2 * one.len());
        assert!(room.takes::<Publish>(&one));
        assert!(!room.takes::<Publish>(&one));
        // A refused message takes nothing.
        assert!(room.takes::<Publish>(&publish(Said::default())));
        let mut light = MemoryBudget::for_bytes(LIGHT_BYTES);
        assert!(light.takes::<Publish>(&one));
    }

    #[test]
    fn damaged_bytes_are_for_the_decoder() {
        let mut room = MemoryBudget::for_bytes(LIGHT_BYTES + 1);
        for damaged in [&[0xff][..], &[0x12, 0xff], &[0x12, 5, 1], &[0x0b]] {
            assert!(room.takes::<Publish>(damaged));
        }
    }
}
