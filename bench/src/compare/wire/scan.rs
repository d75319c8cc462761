//! Reading what a server sends, piece by piece as its protocol cuts it.

use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::compare::tally::Tally;

/// How much is read at a time, in bytes.
const READ: usize = 64 * 1024;

/// One piece of what a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its bytes, head and end included.
    pub(super) whole: usize,
    /// Where its body begins; equal to `whole` where it is no message.
    pub(super) body: usize,
}

/// Reads until the server is gone, and counts the messages. `next` finds the first piece of what was read, if all of it is there.
pub(super) async fn read(
    mut stream: impl AsyncRead + Unpin,
    mut buffer: BytesMut,
    next: impl Fn(&[u8]) -> Option<Piece>,
    tally: Arc<Tally>,
    add: fn(&Tally, u64),
) {
    loop {
        let mut count = 0;
        while let Some(piece) = next(&buffer) {
            if piece.body < piece.whole {
                count += 1;
                tally.message(&buffer[piece.body..piece.whole]);
            }
            buffer.advance(piece.whole);
        }
        add(&tally, count);
        buffer.reserve(READ);
        match stream.read_buf(&mut buffer).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// The first line, without its end, and how many bytes it takes with it.
pub(super) fn line(buffer: &[u8]) -> Option<(&[u8], usize)> {
    let end = buffer.iter().position(|b| *b == b'\n')?;
    Some((
        buffer[..end].strip_suffix(b"\r").unwrap_or(&buffer[..end]),
        end + 1,
    ))
}

/// A number in decimal digits.
pub(super) fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
