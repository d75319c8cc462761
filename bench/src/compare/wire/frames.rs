//! HTTP/2 frames, as bytes (RFC 9113).

use bytes::{BufMut as _, BytesMut};

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Kinds of frames, flags, and settings.
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const ACK: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const INITIAL_WINDOW: u16 = 4;
pub(super) const MAX_FRAME: u16 = 5;

pub(super) const HEAD: usize = 9;
/// Maximum payload of a frame to the hub, in bytes.
pub(super) const FRAME: usize = 16 * 1024;
/// Initial window, in bytes.
pub(super) const FIRST_WINDOW: u32 = 65_535;
/// Id of the only stream.
pub(super) const CALL: u32 = 1;

/// Kind, flags, stream and total length of the first frame, if complete.
pub(super) fn next(buffer: &[u8]) -> Option<(u8, u8, u32, usize)> {
    let head = buffer.first_chunk::<HEAD>()?;
    let whole = HEAD + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    (buffer.len() >= whole).then_some((head[3], head[4], stream, whole))
}

/// Appends a frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut BytesMut) {
    out.put_uint(payload.len() as u64, 3);
    out.put_u8(kind);
    out.put_u8(flags);
    out.put_u32(stream);
    out.put_slice(payload);
}

/// A gRPC call, in HPACK without compression: each name by its number in the static table, each value as a literal.
pub(super) fn headers(path: &str, authority: &str) -> BytesMut {
    let mut out = BytesMut::new();
    let mut text = |name: &[u8], value: &str| {
        out.put_slice(name);
        // All of them are shorter than 127 bytes.
        out.put_u8(u8::try_from(value.len()).unwrap_or(0));
        out.put_slice(value.as_bytes());
    };
    text(b"\x02", "POST");
    text(b"\x06", "http");
    text(b"\x04", path);
    text(b"\x01", authority);
    text(b"\x0f\x10", "application/grpc");
    text(b"\x00\x02te", "trailers");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_as_they_say() {
        let mut sent = BytesMut::new();
        frame(DATA, 0, CALL, b"hello", &mut sent);
        frame(PING, ACK, 0, b"12345678", &mut sent);
        let first = next(&sent).expect("it is whole");
        assert_eq!(first, (DATA, 0, CALL, HEAD + 5));
        assert_eq!(&sent[HEAD..first.3], b"hello");
        let rest = &sent[first.3..];
        assert_eq!(next(rest), Some((PING, ACK, 0, rest.len())));
        assert_eq!(next(&rest[..rest.len() - 1]), None);
    }
}
