//! Bytes that the signature of a card may be of (specification §8.4.1 and §8.4.2).

use serde_json::Value;

use super::card;
use crate::json::to_json;

/// Fields of a card that its canonical form has though they are empty: required ones, and those whose absence says something else (§8.4.1).
const KEPT: [&str; 28] = [
    "authorizationUrl",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "description",
    "deviceAuthorizationUrl",
    "documentationUrl",
    "extendedAgentCard",
    "flows",
    "iconUrl",
    "id",
    "location",
    "name",
    "openIdConnectUrl",
    "organization",
    "protocolBinding",
    "protocolVersion",
    "pushNotifications",
    "scheme",
    "scopes",
    "skills",
    "streaming",
    "supportedInterfaces",
    "tags",
    "tokenUrl",
    "uri",
    "url",
    "version",
];

/// The payloads that signers make of a card: its canonical form; the document as it comes; without all that is empty, as the SDK for Python has
/// it; and the fields of A2A 1.0 alone, where there are others for clients of 0.3.
pub(super) fn payloads(document: &Value) -> Vec<Vec<u8>> {
    let mut card = document.clone();
    if let Value::Object(fields) = &mut card {
        fields.remove("signatures");
    }
    let mut all = vec![without_empty(&card)];
    all.extend(as_python_signs(&card));
    if let Ok(defined) = card::of(card.clone()) {
        let defined = to_json(&defined);
        all.extend(as_python_signs(&defined));
        all.push(defined);
    }
    all.push(card);
    let canonical = all.iter();
    let canonical = canonical.filter_map(|card| serde_json_canonicalizer::to_vec(card).ok());
    let mut canonical: Vec<Vec<u8>> = canonical.collect();
    canonical.dedup();
    canonical
}

/// The value without fields that are empty, but for [`KEPT`].
fn without_empty(value: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    };
    match value {
        Value::Object(fields) => {
            let inner = fields.iter().map(|(name, value)| match name.as_str() {
                // Anybody's own JSON.
                "params" => (name.clone(), value.clone()),
                _ => (name.clone(), without_empty(value)),
            });
            let inner =
                inner.filter(|(name, value)| !is_empty(value) || KEPT.contains(&name.as_str()));
            Value::Object(inner.collect())
        }
        Value::Array(all) => all.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

/// The value as the SDK for Python signs it: without texts, lists and objects that are empty, wherever they are; `None` if nothing is left.
fn as_python_signs(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(all) => {
            let left: Vec<Value> = all.iter().filter_map(as_python_signs).collect();
            (!left.is_empty()).then(|| left.into())
        }
        Value::Object(fields) => {
            let left = fields.iter();
            let left =
                left.filter_map(|(name, value)| Some((name.clone(), as_python_signs(value)?)));
            let left: serde_json::Map<_, _> = left.collect();
            (!left.is_empty()).then(|| left.into())
        }
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The payload is what `a2a.utils.signing` of a2a-sdk 1.3.0 makes of this card.
    #[test]
    fn a_card_is_read_as_the_sdk_for_python_signs_it() {
        let params = json!({"z": 1.5, "€": {"b": null}, "a": "", "ä": [{}, 10.0]});
        let card = json!({
            "name": "signer", "description": "Signs\tits card", "version": "1.0.0", "documentationUrl": "", "signatures": [{}],
            "capabilities": {"streaming": false, "extensions": [{"uri": "urn:x", "params": params}]}, "skills": [],
        });
        let expected = "{\"capabilities\":{\"extensions\":[{\"params\":{\"z\":1.5,\"ä\":[10]},\"uri\":\"urn:x\"}],\"streaming\":false},\
            \"description\":\"Signs\\tits card\",\"name\":\"signer\",\"version\":\"1.0.0\"}";
        let payloads = payloads(&card);
        assert!(payloads.contains(&expected.as_bytes().to_vec()), "{card}");
    }
}
