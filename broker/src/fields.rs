//! Protobuf fields: messages composed of encoded fields, and read field by field without decoding.

use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint,
    encoded_len_varint, key_len, skip_field,
};

/// A text, bytes, or a message, by its field number. Empty ones are omitted.
pub(crate) type Field<'a> = (u32, &'a [u8]);

/// Encoded size of the fields.
pub(crate) fn len(fields: &[Field<'_>]) -> usize {
    let len = |(number, value): &Field<'_>| {
        key_len(*number) + encoded_len_varint(value.len() as u64) + value.len()
    };
    present(fields).map(len).sum()
}

/// Appends the fields.
pub(crate) fn put(fields: &[Field<'_>], message: &mut Vec<u8>) {
    for (number, value) in present(fields) {
        head(*number, value.len(), message);
        message.extend_from_slice(value);
    }
}

/// Appends the tag and length of a field.
pub(crate) fn head(number: u32, len: usize, message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(len as u64, message);
}

fn present<'a, 'b>(fields: &'a [Field<'b>]) -> impl Iterator<Item = &'a Field<'b>> {
    fields.iter().filter(|(_, value)| !value.is_empty())
}

/// Value of a field in an encoded message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(u64),
    /// A text, bytes, or a message.
    Bytes(&'a [u8]),
    /// A fixed-length number or a group, which no message of the hub has at its top level.
    Other,
}

impl<'a> Value<'a> {
    /// The bytes of the value.
    ///
    /// # Errors
    ///
    /// It is a number.
    pub(crate) fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) | Self::Other => Err(Malformed),
        }
    }

    /// The number. Larger ones are truncated to the lower half, as a decoder does.
    ///
    /// # Errors
    ///
    /// It is not a number.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn number(self) -> Result<u32, Malformed> {
        match self {
            Self::Number(number) => Ok(number as u32),
            Self::Bytes(_) | Self::Other => Err(Malformed),
        }
    }
}

/// Error: the bytes are not a Protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no message of its type")]
pub(crate) struct Malformed;

/// Iterator over the fields of a message. Ends after the first malformed one.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// Unread rest.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    fn read(&mut self) -> Result<(u32, Value<'a>), Malformed> {
        let (field, kind) = decode_key(&mut self.0).map_err(|_| Malformed)?;
        let mut number = || decode_varint(&mut self.0).map_err(|_| Malformed);
        let value = match kind {
            WireType::Varint => Value::Number(number()?),
            WireType::LengthDelimited => {
                let length = usize::try_from(number()?).map_err(|_| Malformed)?;
                let (value, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
                self.0 = rest;
                Value::Bytes(value)
            }
            kind => {
                skip_field(kind, field, &mut self.0, DecodeContext::default())
                    .map_err(|_| Malformed)?;
                Value::Other
            }
        };
        Ok((field, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_until_one_is_malformed() {
        let message = [&[8, 0x85, 1, 0x12, 2, b'h', b'i', 0x1d][..], &[0; 4]].concat();
        let expected = [
            Ok((1, Value::Number(133))),
            Ok((2, Value::Bytes(b"hi"))),
            Ok((3, Value::Other)),
        ];
        assert!(Fields::of(&message).eq(expected));
        let cut_off = Fields::of(&message[..6]);
        assert!(cut_off.eq([expected[0], Err(Malformed)]));
    }
}
