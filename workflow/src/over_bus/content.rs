//! Requests of steps as content of claim checks, and content as answers.

use agenthub_claims::{ClaimCheck, ContentType};
use agenthub_sdk::runs::Handoff;
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// Type of content that is the parts, and the metadata, of a message of A2A.
const MESSAGE: &str = "application/a2a+json";

/// Field of a message's metadata with the skill that is asked.
const SKILL: &str = "task_type";

/// The content of a request: words alone are text, all else a message of A2A.
pub(super) fn input_of(handoff: &Handoff) -> (Bytes, ContentType) {
    let typed = |name: &str| name.parse().expect("a content type");
    let Handoff {
        capability,
        text,
        payload,
        ..
    } = handoff;
    if capability.is_empty() && payload.is_none() {
        return (text.clone().into(), typed("text/plain"));
    }
    let words = (!text.is_empty()).then(|| json!({ "text": text }));
    let data = payload.as_ref().map(|data| json!({ "data": data }));
    let parts: Vec<Value> = words.into_iter().chain(data).collect();
    let mut metadata = Map::new();
    if !capability.is_empty() {
        metadata.insert(SKILL.to_owned(), capability.clone().into());
    }
    let message = json!({ "parts": parts, "metadata": metadata });
    (message.to_string().into(), typed(MESSAGE))
}

/// Words and data of an answer. Content that is neither is named by its claim check.
pub(super) fn said_in(content: &Bytes, claim: &ClaimCheck) -> (String, Vec<Value>) {
    let media_type = claim.content_type().as_str();
    let essence = media_type.split(';').next().unwrap_or_default();
    let named = || {
        let named = json!({ "claim_check": claim.to_string(), "content_type": media_type });
        (String::new(), vec![named])
    };
    if essence.starts_with("text/") {
        return match std::str::from_utf8(content) {
            Ok(text) => (text.to_owned(), Vec::new()),
            Err(_) => named(),
        };
    }
    let is_json = essence == "application/json" || essence.ends_with("+json");
    match serde_json::from_slice::<Value>(content) {
        Ok(message) if essence == MESSAGE => {
            let parts = message["parts"].as_array();
            let parts = || parts.into_iter().flatten();
            let texts: Vec<&str> = parts().filter_map(|part| part["text"].as_str()).collect();
            let data = parts().filter_map(|part| part.get("data").cloned());
            (texts.join("\n"), data.collect())
        }
        Ok(data) if is_json => (String::new(), vec![data]),
        _ => named(),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_claims::Digest;

    use super::*;

    fn claim(content: &str, media_type: &str) -> ClaimCheck {
        let digest = Digest::of(content.as_bytes());
        let uri = format!(
            "memory:///2026-11-25/{digest}.{}#{media_type}",
            content.len()
        );
        uri.parse().expect("a claim check")
    }

    #[test]
    fn a_request_is_text_or_a_message() {
        let check = |handoff: Handoff, content: &str, media_type: &str| {
            let (stored, content_type) = input_of(&handoff);
            assert_eq!(
                (&*stored, content_type.as_str()),
                (content.as_bytes(), media_type)
            );
        };
        let said = |text: &str, skill: &str, payload: Option<Value>| Handoff {
            text: text.to_owned(),
            capability: skill.to_owned(),
            payload,
            ..Handoff::default()
        };
        check(said("hi", "", None), "hi", "text/plain");
        check(
            said("hi", "greet", Some(json!({ "to": "Ann" }))),
            r#"{"parts":[{"text":"hi"},{"data":{"to":"Ann"}}],"metadata":{"task_type":"greet"}}"#,
            MESSAGE,
        );
        check(
            said("", "", Some(json!([1]))),
            r#"{"parts":[{"data":[1]}],"metadata":{}}"#,
            MESSAGE,
        );
    }

    /// spec: EXE-2.4
    #[test]
    fn an_answer_is_words_and_data_or_its_claim_check() {
        let check = |content: &'static str, media_type: &str, text: &str, data: &[Value]| {
            let claim = claim(content, media_type);
            let said = said_in(&Bytes::from(content), &claim);
            assert_eq!(said, (text.to_owned(), data.to_vec()), "{media_type}");
        };
        check("hi", "text/plain;charset=utf-8", "hi", &[]);
        check("{\"a\":1}", "application/json", "", &[json!({ "a": 1 })]);
        check("[1]", "application/ld+json", "", &[json!([1])]);
        let parts = r#"{"parts":[{"text":"a"},{"data":2},{"text":"b"},{"raw":"aGk="}]}"#;
        check(parts, MESSAGE, "a\nb", &[json!(2)]);
        for media_type in ["image/png", "application/json"] {
            let uri = claim("hi", media_type).to_string();
            let named = json!({ "claim_check": uri, "content_type": media_type });
            check("hi", media_type, "", &[named]);
        }
    }
}
