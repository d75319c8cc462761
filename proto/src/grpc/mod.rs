//! gRPC as the hub and its clients in Rust read and write it: past tonic's codecs, which copy all that comes into a buffer of their own, and
//! write into another that grows with what it gets.

mod call;
mod held;
mod messages;

use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message;

pub use self::{call::call, held::Held, messages::Messages};

/// What gRPC puts before a message: whether it is compressed, and its length in 4 bytes.
pub const HEADER: usize = 5;

/// What gRPC puts before a message of so many bytes, which is not compressed.
pub fn header(bytes: usize) -> [u8; HEADER] {
    let [a, b, c, d] = u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    [0, a, b, c, d]
}

/// A message as gRPC sends it.
pub fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(HEADER + length);
    bytes.put_slice(&header(length));
    message.encode_raw(&mut bytes);
    bytes.freeze()
}

#[cfg(test)]
fn bytes_framed(message: &[u8]) -> Vec<u8> {
    [&header(message.len()), message].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenthub::PublishResponse;

    #[test]
    fn a_message_has_its_length_before_it() {
        let message = PublishResponse {
            event_id: "e".repeat(300),
            ..PublishResponse::default()
        };
        let bytes = framed(&message);
        let length = bytes.len() - HEADER;
        assert_eq!(
            bytes[..HEADER],
            [0, 0, 0, 1, u8::try_from(length - 256).expect("it fits")]
        );
        assert_eq!(PublishResponse::decode(&bytes[HEADER..]), Ok(message));
    }
}
