//! Where messages are cut out of pieces.

use bytes::{Buf as _, Bytes, BytesMut};
use tonic::Status;

use super::HEADER;

/// What was read and not cut yet.
#[derive(Debug, Default)]
pub struct Held {
    /// The beginning of a message that goes on in the piece, copied: peers may send it in pieces as small as they like.
    begun: BytesMut,
    /// The last piece, without what was taken of it.
    piece: Bytes,
}

impl Held {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.piece.is_empty()
    }

    /// Takes the next piece, once nothing whole is left of the one before.
    pub fn put(&mut self, piece: Bytes) {
        debug_assert!(self.piece.is_empty(), "messages are left in a piece");
        self.piece = piece;
    }

    /// The first message, if it is whole: a part of its piece, or copied if it came in several. If it is not, the piece has been used up.
    ///
    /// # Errors
    ///
    /// It is compressed, or has more than so many bytes.
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

    /// Makes room for what the piece adds: twice as much each time, and never more than for the whole message. A length alone
    /// takes no memory.
    fn make_room(&mut self, whole: usize) {
        let next = whole.min(self.begun.len() + self.piece.len());
        if self.begun.capacity() < next {
            let begun = &self.begun;
            let mut larger = BytesMut::with_capacity(whole.min(next.max(2 * begun.capacity())));
            larger.extend_from_slice(begun);
            self.begun = larger;
        }
    }

    /// Copies from the piece until so much is begun, as far as it goes.
    fn copy(&mut self, upto: usize) {
        let more = upto.saturating_sub(self.begun.len()).min(self.piece.len());
        self.begun.extend_from_slice(&self.piece.split_to(more));
    }
}

/// How long the message behind a header is.
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
        let mut held = Held::default();
        held.put(piece.clone());
        let message = held.cut(100).expect("a message").expect("it is whole");
        assert_eq!(message.as_ptr(), piece[HEADER..].as_ptr());
        assert!(held.is_empty());
    }

    /// A peer decides how small the pieces are, and not what is kept for each.
    #[test]
    fn what_is_not_whole_is_kept_as_it_is() {
        let bytes = bytes_framed(&[7; 1000]);
        let mut held = Held::default();
        for piece in bytes[..1000].chunks(1) {
            held.put(Bytes::copy_from_slice(piece));
            assert_eq!(held.cut(1000).expect("good so far"), None);
            assert!(held.piece.is_empty());
        }
        assert!(held.begun.capacity() <= 1000 + HEADER);
    }
}
