//! Protobuf messages that are put together from fields whose bytes are there already.

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

/// A text, bytes, or a message, by its number in the message around it. One that is empty is left out.
pub(crate) type Field<'a> = (u32, &'a [u8]);

/// How many bytes the fields take.
pub(crate) fn len(fields: &[Field<'_>]) -> usize {
    let len = |(number, value): &Field<'_>| {
        key_len(*number) + encoded_len_varint(value.len() as u64) + value.len()
    };
    present(fields).map(len).sum()
}

/// Adds the fields.
pub(crate) fn put(fields: &[Field<'_>], message: &mut Vec<u8>) {
    for (number, value) in present(fields) {
        head(*number, value.len(), message);
        message.extend_from_slice(value);
    }
}

/// Adds what stands before so many bytes of a field.
pub(crate) fn head(number: u32, len: usize, message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(len as u64, message);
}

fn present<'a, 'b>(fields: &'a [Field<'b>]) -> impl Iterator<Item = &'a Field<'b>> {
    fields.iter().filter(|(_, value)| !value.is_empty())
}
