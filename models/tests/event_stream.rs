//! `application/vnd.amazon.eventstream`, as AWS frames it: lengths, headers, payload, and a CRC-32 of each part.

use serde_json::Value;

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.amazon.eventstream";

/// An event of this type.
pub(crate) fn event(kind: &str, payload: &Value) -> Vec<u8> {
    frame(
        &[
            (":event-type", kind),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ],
        payload,
    )
}

/// An error in place of the next event.
pub(crate) fn exception(kind: &str, payload: &Value) -> Vec<u8> {
    frame(
        &[
            (":exception-type", kind),
            (":content-type", "application/json"),
            (":message-type", "exception"),
        ],
        payload,
    )
}

fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    const STRING: u8 = 7;
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).expect("a short name"));
        head.extend(name.as_bytes());
        head.push(STRING);
        let length = u16::try_from(value.len()).expect("a short value");
        head.extend(length.to_be_bytes());
        head.extend(value.as_bytes());
    }
    let payload = payload.to_string().into_bytes();
    let size = |length: usize| u32::try_from(length).expect("a small frame").to_be_bytes();

    let mut frame = Vec::new();
    frame.extend(size(12 + head.len() + payload.len() + 4));
    frame.extend(size(head.len()));
    frame.extend(crc32(&frame).to_be_bytes());
    frame.extend(head);
    frame.extend(payload);
    frame.extend(crc32(&frame).to_be_bytes());
    frame
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
    let of = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !bytes.iter().fold(!0, of)
}

#[test]
fn the_checksum_is_the_one_of_the_standard() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}
