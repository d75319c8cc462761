//! Answer to a peer that does not speak TLS to an address that does.

use super::Speaks;

/// First byte of TLS: a record of the handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// The answer to it.
const USE_TLS: &str = "this address speaks TLS: use https://";

/// True if a connection that begins with this byte is one of TLS.
pub(super) fn is_tls(first: u8) -> bool {
    first == HANDSHAKE
}

/// The answer, in the protocol that the peer seems to speak.
pub(super) fn answer(speaks: Speaks, first: u8) -> Vec<u8> {
    match speaks {
        // The preface of HTTP/2 begins with PRI.
        Speaks::Grpc if first == b'P' => http2(),
        Speaks::Grpc | Speaks::Http => http1(),
    }
}

fn http1() -> Vec<u8> {
    let length = USE_TLS.len() + 1;
    format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{USE_TLS}\n"
    )
    .into_bytes()
}

/// Empty SETTINGS, then GOAWAY with a reason (RFC 9113, sections 6.5 and 6.8).
fn http2() -> Vec<u8> {
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    const INADEQUATE_SECURITY: u32 = 0xc;
    let head = |length: usize, kind: u8| {
        let length = u32::try_from(length).expect("it is short").to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 0]].concat()
    };
    let reason = [
        &0_u32.to_be_bytes(),
        &INADEQUATE_SECURITY.to_be_bytes(),
        USE_TLS.as_bytes(),
    ]
    .concat();
    [head(0, SETTINGS), head(reason.len(), GOAWAY), reason].concat()
}
