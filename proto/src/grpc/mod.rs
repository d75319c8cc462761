//! gRPC as the hub and its clients in Rust read it: past tonic's decoder, which copies all that comes into a buffer of its own.

mod call;
mod held;
mod messages;

pub use self::{call::call, held::Held, messages::Messages};

/// What gRPC puts before a message: whether it is compressed, and its length in 4 bytes.
pub const HEADER: usize = 5;

/// What gRPC puts before a message of so many bytes, which is not compressed.
pub fn header(bytes: usize) -> [u8; HEADER] {
    let [a, b, c, d] = u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    [0, a, b, c, d]
}

#[cfg(test)]
fn framed(message: &[u8]) -> Vec<u8> {
    [&header(message.len()), message].concat()
}
