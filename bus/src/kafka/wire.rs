//! Messages as records of Kafka.

use bytes::Bytes;
use rdkafka::{
    Message as _,
    message::{BorrowedMessage, Header, Headers as _, OwnedHeaders},
};

use crate::Message;

/// Header with the id, as CloudEvents calls it in its binary mode.
const ID: &str = "ce_id";

/// The headers of a message, and its id.
pub(super) fn headers(message: &Message) -> OwnedHeaders {
    let id = (ID, &message.id);
    let others = message.headers.iter().map(|(name, value)| (&**name, value));
    std::iter::once(id)
        .chain(others)
        .fold(OwnedHeaders::new(), |headers, (key, value)| {
            headers.insert(Header {
                key,
                value: Some(value),
            })
        })
}

/// The message of a record. One without an id, as strangers publish them, has that of its place.
pub(super) fn read(record: &BorrowedMessage<'_>) -> Message {
    let headers = record
        .headers()
        .into_iter()
        .flat_map(|headers| headers.iter());
    let mut headers: std::collections::BTreeMap<String, String> = headers
        .map(|header| (header.key.to_owned(), text(header.value)))
        .collect();
    let place = || {
        format!(
            "{}/{}/{}",
            record.topic(),
            record.partition(),
            record.offset()
        )
    };
    Message {
        id: headers.remove(ID).unwrap_or_else(place),
        key: text(record.key()),
        headers,
        body: Bytes::copy_from_slice(record.payload().unwrap_or_default()),
    }
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}
