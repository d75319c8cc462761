//! Reading of a server's output, split into the pieces of its protocol.

use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::compare::tally::Tally;

/// Bytes per read.
const READ: usize = 64 * 1024;

/// A piece of a server's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its bytes, head and end included.
    pub(super) whole: usize,
    /// Start of its body; equal to `whole` if it is no message.
    pub(super) body: usize,
}

/// Reads until the server closes, and counts the messages. `next` finds the first piece, if complete.
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

/// The first line without its end, and its length with it.
pub(super) fn line(buffer: &[u8]) -> Option<(&[u8], usize)> {
    let end = buffer.iter().position(|b| *b == b'\n')?;
    Some((
        buffer[..end].strip_suffix(b"\r").unwrap_or(&buffer[..end]),
        end + 1,
    ))
}

/// A decimal number.
pub(super) fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
