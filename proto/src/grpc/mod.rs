//! gRPC as the hub and its Rust clients read and write it: without tonic's codecs, which copy all input into their own
//! buffer, and write into another one that grows with the output.

mod buffer;
mod call;
mod messages;
mod transport;

use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message;

pub use self::{
    buffer::MessageBuffer,
    call::call,
    messages::Messages,
    transport::{InProcess, Transport},
};

/// Bytes before a message: a flag for compression, and the length in 4 bytes.
pub const HEADER: usize = 5;

/// The header of an uncompressed message of this size.
pub fn header(bytes: usize) -> [u8; HEADER] {
    let [a, b, c, d] = u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    [0, a, b, c, d]
}

/// A message with its header.
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
