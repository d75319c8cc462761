//! Extensions that a client asks for (specification §3.2.6, §14.2.2), on their way through the hub to an agent elsewhere.

use agenthub_sdk::proto::{a2a, json};
use http::HeaderValue;
use serde_json::Value;

use crate::v1;

/// Metadata of a message of the hub: the extensions that its client asked for, in `A2A-Extensions`.
const ASKED: &str = "urn:agenthub:a2a-extensions";

/// The most extensions of a request that are handed on, and the longest name of one, in bytes.
const MOST: (usize, usize) = (32, 512);

/// Notes with a message what its client asked for.
pub(crate) fn note(message: &mut a2a::Message, asked: &[String]) {
    let asked = asked.iter().filter(|uri| uri.len() <= MOST.1).take(MOST.0);
    let asked: Vec<Value> = asked.map(|uri| Value::from(uri.as_str())).collect();
    if !asked.is_empty() {
        let metadata = message.metadata.get_or_insert_default();
        let asked = json::to_value(&Value::Array(asked));
        metadata.fields.insert(ASKED.to_owned(), asked);
    }
}

/// The header of a request with this message: what was asked for, and what the message itself is made of. `None` if that is nothing.
pub(crate) fn header(message: Option<&v1::Message>) -> Option<HeaderValue> {
    let message = message?;
    let asked = message.metadata.as_ref().and_then(|m| m.fields.get(ASKED));
    let asked = asked.map(json::from_value).unwrap_or_default();
    let asked = asked.as_array().map_or(&[][..], Vec::as_slice);
    let mut all: Vec<&str> = asked.iter().filter_map(Value::as_str).collect();
    for uri in &message.extensions {
        if !all.contains(&uri.as_str()) {
            all.push(uri);
        }
    }
    match all.is_empty() {
        true => None,
        false => HeaderValue::from_str(&all.join(", ")).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::message_from_hub;

    /// spec: A2A 1.0.1 §3.2.6
    #[test]
    fn what_was_asked_for_is_asked_for_again() {
        let mut message = a2a::Message::new(a2a::Role::User, "hi");
        let of = |message: &a2a::Message| header(Some(&message_from_hub(message.clone())));
        note(&mut message, &[]);
        assert_eq!((message.metadata.clone(), of(&message)), (None, None));
        note(
            &mut message,
            &["urn:a".into(), "x".repeat(600), "urn:b".into()],
        );
        message.extensions = vec!["urn:b".into(), "urn:c".into()];
        assert_eq!(of(&message).expect("three"), "urn:a, urn:b, urn:c");
        message.extensions = vec!["a\nb: c".into()];
        assert_eq!(of(&message), None, "that is no header");
    }
}
