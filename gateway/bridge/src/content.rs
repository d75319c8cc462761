//! Content of claim checks as parts of messages of A2A, and back.

use agenthub_a2a::{
    json::{from_json, to_json},
    v1::{Message, Part, part::Content},
};
use agenthub_claims::ContentType;
use bytes::Bytes;
use serde_json::{Value, json};

/// Type of content that is the parts, and the metadata, of a message of A2A.
const MESSAGE: &str = "application/a2a+json";

/// The message that content is, as far as the content says: text is text, JSON is data, a message of A2A is itself, all else is a file.
///
/// # Errors
///
/// The content is not of its type.
pub(crate) fn message_of(content: Bytes, content_type: &ContentType) -> Result<Message, String> {
    let essence = content_type.as_str().split(';').next().unwrap_or_default();
    let media_type = content_type.to_string();
    let wrong = |why: String| format!("the input is not {essence}: {why}");
    let is_json = essence == "application/json" || essence.ends_with("+json");
    let part = if is_json {
        let data: Value = serde_json::from_slice(&content).map_err(|e| wrong(e.to_string()))?;
        if essence == MESSAGE {
            // Who says it and to what belongs to the task.
            let said = json!({
                "messageId": "", "role": "ROLE_USER", "parts": data["parts"], "metadata": data["metadata"],
            });
            return from_json(said).map_err(|e| wrong(e.to_string()));
        }
        let part = json!({ "data": data, "mediaType": media_type });
        from_json(part).map_err(|e| wrong(e.to_string()))?
    } else {
        let content = if essence.starts_with("text/") {
            let text = String::from_utf8(content.into()).map_err(|e| wrong(e.to_string()))?;
            Content::Text(text)
        } else {
            Content::Raw(content.into())
        };
        Part {
            content: Some(content),
            media_type,
            ..Part::default()
        }
    };
    Ok(Message {
        parts: vec![part],
        ..Message::default()
    })
}

/// Content that an answer is stored as. Texts are one under the other; one file is itself, and data is JSON; of several kinds together it is
/// a message of A2A, `{"parts": [...]}`.
pub(crate) fn content_of(parts: &[Part]) -> (Bytes, ContentType) {
    let texts: Option<Vec<&str>> = parts.iter().map(text_of).collect();
    if let Some(texts) = texts {
        let media_type = match parts {
            [one] => one.media_type.as_str(),
            _ => "",
        };
        return (texts.join("\n").into(), typed(media_type, "text/plain"));
    }
    match parts {
        [one] => match &one.content {
            Some(Content::Raw(bytes)) => (
                Bytes::copy_from_slice(bytes),
                typed(&one.media_type, "application/octet-stream"),
            ),
            Some(Content::Data(_)) => (
                to_json(one)["data"].to_string().into(),
                typed("", "application/json"),
            ),
            _ => all_of(parts),
        },
        _ => all_of(parts),
    }
}

/// Text of a part that is text.
pub(crate) fn text_of(part: &Part) -> Option<&str> {
    match &part.content {
        Some(Content::Text(text)) => Some(text),
        _ => None,
    }
}

fn all_of(parts: &[Part]) -> (Bytes, ContentType) {
    let parts: Vec<Value> = parts.iter().map(to_json).collect();
    let all = json!({ "parts": parts }).to_string();
    (all.into(), typed("", MESSAGE))
}

/// The type that an agent names, if it is one.
fn typed(media_type: &str, otherwise: &str) -> ContentType {
    let named = media_type.parse();
    named
        .or_else(|_| otherwise.parse())
        .expect("a content type is one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(json: Value) -> Vec<Part> {
        let parts = json.as_array().expect("a list").iter();
        parts
            .map(|part| from_json(part.clone()).expect("a part"))
            .collect()
    }

    #[test]
    fn an_agent_gets_text_data_or_a_file() {
        let check = |content: &'static str, media_type: &str, expected: Value| {
            let content_type = media_type.parse().expect("a content type");
            let message = message_of(content.into(), &content_type).expect("it fits");
            let mut json = to_json(&message.parts[0]);
            assert_eq!(json["mediaType"].take(), media_type);
            for (field, value) in expected.as_object().expect("an object") {
                assert_eq!(&json[field], value, "{media_type}");
            }
        };
        check("hi", "text/plain;charset=utf-8", json!({ "text": "hi" }));
        check(
            "{\"a\":[1]}",
            "application/json",
            json!({ "data": { "a": [1] } }),
        );
        check("[2]", "application/ld+json", json!({ "data": [2] }));
        check("hi", "image/png", json!({ "raw": "aGk=" }));
        let json = "application/json".parse().expect("a content type");
        let wrong = message_of("{".into(), &json).expect_err("it is no JSON");
        assert!(wrong.contains("not application/json"), "{wrong}");
    }

    /// spec: EXE-5.3
    #[test]
    fn a_message_is_taken_with_its_parts_and_metadata() {
        let content = json!({
            "parts": [{ "text": "hi" }, { "data": { "to": "Ann" } }], "metadata": { "task_type": "greet" },
        });
        let message = message_of(content.to_string().into(), &typed("", MESSAGE));
        let json = to_json(&message.expect("it fits"));
        assert_eq!(json["parts"], content["parts"]);
        assert_eq!(json["metadata"], content["metadata"]);
        let bare = message_of(
            "{\"parts\":[{\"text\":\"hi\"}]}".into(),
            &typed("", MESSAGE),
        );
        assert_eq!(bare.expect("it fits").parts.len(), 1);
        let wrong = message_of("{\"parts\":1}".into(), &typed("", MESSAGE));
        assert!(
            wrong
                .expect_err("no parts")
                .contains("is not application/a2a+json")
        );
    }

    #[test]
    fn an_answer_is_stored_as_what_it_is() {
        let check = |answer: Value, content: &str, media_type: &str| {
            let (stored, content_type) = content_of(&parts(answer));
            assert_eq!(stored, content);
            assert_eq!(content_type.as_str(), media_type);
        };
        check(json!([]), "", "text/plain");
        check(
            json!([{ "text": "a" }, { "text": "b" }]),
            "a\nb",
            "text/plain",
        );
        check(
            json!([{ "text": "# a", "mediaType": "text/markdown" }]),
            "# a",
            "text/markdown",
        );
        check(
            json!([{ "text": "a", "mediaType": "nonsense" }]),
            "a",
            "text/plain",
        );
        check(
            json!([{ "data": { "a": 1 } }]),
            "{\"a\":1}",
            "application/json",
        );
        check(
            json!([{ "raw": "aGk=", "mediaType": "image/png" }]),
            "hi",
            "image/png",
        );
        check(
            json!([{ "text": "a" }, { "data": 1 }]),
            "{\"parts\":[{\"text\":\"a\"},{\"data\":1}]}",
            MESSAGE,
        );
    }
}
