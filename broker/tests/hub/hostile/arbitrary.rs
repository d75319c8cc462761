//! Arbitrary messages of any type, by its descriptor.

use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage, Value,
};

/// Choices derived from one number, so that a case can be repeated.
pub(super) struct Choices(pub(super) u64);

impl Choices {
    pub(super) fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("it is less than a usize")
    }

    pub(super) fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }
}

/// Recurring ids, so that cases interact, and text that no id should be.
pub(super) fn text(choices: &mut Choices) -> String {
    let long = "x".repeat(choices.one_of(&[129, 257, 20_000]));
    let known = [
        "",
        "",
        "a",
        "b",
        "agent@1",
        "@",
        "t1",
        "t2",
        "t3",
        "c1",
        "echo",
        "message",
        "default",
        "00000000-1",
        "ffffffff-18446744073709551615",
        "../..",
        "a\nb",
        "\0",
        "\u{202e}rtl",
        "💥",
        &long,
    ];
    choices.one_of(&known).to_owned()
}

pub(super) fn number(choices: &mut Choices) -> i64 {
    let arbitrary = choices.next().cast_signed();
    choices.one_of(&[
        0,
        0,
        1,
        1,
        2,
        3,
        4,
        8,
        16,
        64,
        -1,
        99,
        i64::MAX,
        i64::MIN,
        arbitrary,
    ])
}

pub(super) fn scalar(kind: &Kind, choices: &mut Choices, depth: usize) -> Value {
    #[allow(clippy::cast_possible_truncation)]
    let small = number(choices) as i32;
    match kind {
        Kind::Double => Value::F64(choices.one_of(&[0.0, -1.5, f64::NAN, f64::INFINITY, 1e308])),
        Kind::Float => Value::F32(choices.one_of(&[0.0, f32::NAN])),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(small),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number(choices)),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(small.cast_unsigned()),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(number(choices).cast_unsigned()),
        Kind::Bool => Value::Bool(choices.below(2) == 0),
        Kind::String => Value::String(text(choices)),
        Kind::Bytes => Value::Bytes(text(choices).into_bytes().into()),
        Kind::Enum(_) => Value::EnumNumber(small),
        Kind::Message(message) => {
            let mut value = DynamicMessage::new(message.clone());
            fill(&mut value, choices, depth + 1);
            Value::Message(value)
        }
    }
}

pub(super) fn value(field: &FieldDescriptor, choices: &mut Choices, depth: usize) -> Value {
    if field.is_map() {
        let entry = field.kind();
        let entry = entry.as_message().expect("a map's entry is a message");
        let of = entry.map_entry_value_field().kind();
        let entries = (0..choices.below(3)).map(|_| {
            let key = MapKey::String(text(choices));
            (key, scalar(&of, choices, depth))
        });
        return Value::Map(entries.collect());
    }
    if field.is_list() {
        let count = choices.one_of(&[0, 1, 1, 2, 5]);
        let kind = field.kind();
        return Value::List((0..count).map(|_| scalar(&kind, choices, depth)).collect());
    }
    scalar(&field.kind(), choices, depth)
}

/// Sets about three of four fields, fewer with depth.
pub(super) fn fill(message: &mut DynamicMessage, choices: &mut Choices, depth: usize) {
    for field in message.descriptor().fields() {
        let likely = match depth {
            0..=2 => 12,
            3..=5 => 8,
            6..=40 => 4,
            _ => 0,
        };
        if choices.below(16) < likely {
            let value = value(&field, choices, depth);
            message.set_field(&field, value);
        }
    }
}

pub(super) fn pool() -> DescriptorPool {
    DescriptorPool::decode(agenthub_proto::FILE_DESCRIPTOR_SET).expect("descriptors")
}

/// An arbitrary encoded message of the type with that name.
pub(super) fn arbitrary(pool: &DescriptorPool, name: &str, choices: &mut Choices) -> Vec<u8> {
    let descriptor = pool.get_message_by_name(name).expect("it is known");
    let mut message = DynamicMessage::new(descriptor);
    fill(&mut message, choices, 0);
    message.encode_to_vec()
}
