//! Buffer that cuts messages out of chunks.

use bytes::{Buf as _, Bytes, BytesMut};
use tonic::Status;

use super::HEADER;

/// Bytes that were read and not cut yet.
#[derive(Debug, Default)]
pub struct MessageBuffer {
    /// The beginning of a message that continues in the chunk, copied: peers may send chunks as small as they like.
    begun: BytesMut,
    /// The rest of the last chunk.
    piece: Bytes,
}

impl MessageBuffer {
    /// True if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.piece.is_empty()
    }

    /// Adds the next chunk. The previous one must not contain a complete message any more.
    pub fn put(&mut self, piece: Bytes) {
        debug_assert!(self.piece.is_empty(), "messages are left in a piece");
        self.piece = piece;
    }

    /// The first message, if it is complete: a slice of its chunk, or copied if it came in several. If it is not, the
    /// chunk has been copied.
    ///
    /// # Errors
    ///
    /// The message is compressed, or larger than `most_bytes`.
    pub fn cut(&mut self, most_bytes: usize) -> Result<Option<Bytes>, Status> {
        if self.begun.is_empty()
            && let Some(header) = self.piece.first_chunk()
            && let Some(whole) = self.piece.get(..HEADER + length(*header, most_bytes)?)
        {
            let mut message = self.piece.split_to(whole.len());
            message.advance(HEADER);
            return Ok(Some(message));
        }
        self.copy(HEADER);
        let Some(header) = self.begun.first_chunk() else {
            return Ok(None);
        };
        let whole = HEADER + length(*header, most_bytes)?;
        self.make_room(whole);
        self.copy(whole);
        Ok((self.begun.len() == whole).then(|| {
            let mut message = self.begun.split().freeze();
            message.advance(HEADER);
            message
        }))
    }

    /// Reserves memory for the chunk's bytes: doubles the capacity, up to the size of the whole message. A length alone
    /// reserves nothing.
    fn make_room(&mut self, whole: usize) {
        let next = whole.min(self.begun.len() + self.piece.len());
        if self.begun.capacity() < next {
            let begun = &self.begun;
            let mut larger = BytesMut::with_capacity(whole.min(next.max(2 * begun.capacity())));
            larger.extend_from_slice(begun);
            self.begun = larger;
        }
    }

    /// Copies from the chunk until `upto` bytes are buffered, as far as it goes.
    fn copy(&mut self, upto: usize) {
        let more = upto.saturating_sub(self.begun.len()).min(self.piece.len());
        self.begun.extend_from_slice(&self.piece.split_to(more));
    }
}

/// Length of a message, from its header.
fn length(header: [u8; HEADER], most_bytes: usize) -> Result<usize, Status> {
    let [is_compressed, length @ ..] = header;
    if is_compressed != 0 {
        return Err(Status::internal(
            "a message says that it is compressed, which its call has not announced",
        ));
    }
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > most_bytes {
        return Err(Status::out_of_range(format!(
            "a message has {length} bytes, of which {most_bytes} are taken at most"
        )));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::{super::bytes_framed, *};

    #[test]
    fn a_message_in_one_piece_is_not_copied() {
        let piece = Bytes::from(bytes_framed(b"message"));
        let mut buffer = MessageBuffer::default();
        buffer.put(piece.clone());
        let message = buffer.cut(100).expect("a message").expect("it is whole");
        assert_eq!(message.as_ptr(), piece[HEADER..].as_ptr());
        assert!(buffer.is_empty());
    }

    /// A peer chooses how small the chunks are, but not how much memory each takes.
    #[test]
    fn what_is_not_whole_is_kept_as_it_is() {
        let bytes = bytes_framed(&[7; 1000]);
        let mut buffer = MessageBuffer::default();
        for piece in bytes[..1000].chunks(1) {
            buffer.put(Bytes::copy_from_slice(piece));
            assert_eq!(buffer.cut(1000).expect("good so far"), None);
            assert!(buffer.piece.is_empty());
        }
        assert!(buffer.begun.capacity() <= 1000 + HEADER);
    }
}
