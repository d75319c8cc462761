//! Messages, artifacts and parts.

use serde_json::{Map, Value, json};

use crate::json::Malformed;

/// A message of 0.3 as 1.0 writes it.
///
/// # Errors
///
/// The field that is wrong.
pub(super) fn to_one(mut message: Value) -> Result<Value, Malformed> {
    if message.is_null() {
        return Ok(message);
    }
    let wrong = |field: &str, description: String| Malformed {
        field: field.to_owned(),
        description,
    };
    let Value::Object(fields) = &mut message else {
        return Err(wrong("message", "an object".to_owned()));
    };
    fields.remove("kind");
    let role = match fields.get("role").and_then(Value::as_str) {
        Some("user") => "ROLE_USER",
        Some("agent") => "ROLE_AGENT",
        _ => return Err(wrong("message.role", "\"user\" or \"agent\"".to_owned())),
    };
    fields.insert("role".to_owned(), role.into());
    if let Some(Value::Array(parts)) = fields.get_mut("parts") {
        for (n, part) in parts.iter_mut().enumerate() {
            let read = part_to_one(part.take());
            *part = read.ok_or_else(|| {
                let known = "a part is of kind text, file (with uri or bytes) or data";
                wrong(&format!("message.parts[{n}]"), known.to_owned())
            })?;
        }
    }
    Ok(message)
}

pub(super) fn part_to_one(mut part: Value) -> Option<Value> {
    let mut one = json!({});
    match part["kind"].as_str()? {
        "text" => one["text"] = part["text"].take(),
        "data" => one["data"] = part["data"].take(),
        "file" => {
            let file = &mut part["file"];
            match (file["uri"].take(), file["bytes"].take()) {
                (uri @ Value::String(_), _) => one["url"] = uri,
                (_, bytes @ Value::String(_)) => one["raw"] = bytes,
                _ => return None,
            }
            one["filename"] = file["name"].take();
            one["mediaType"] = file["mimeType"].take();
        }
        _ => return None,
    }
    one["metadata"] = part["metadata"].take();
    Some(one)
}

/// A message of 1.0, as JSON, as 0.3 writes it.
pub(super) fn from_one(mut message: Value) -> Value {
    message["kind"] = "message".into();
    let role = match message["role"].as_str() {
        Some("ROLE_USER") => "user",
        _ => "agent",
    };
    message["role"] = role.into();
    parts_from_one(&mut message);
    message
}

/// An artifact of 1.0, as JSON, as 0.3 writes it.
pub(super) fn artifact_from_one(mut artifact: Value) -> Value {
    parts_from_one(&mut artifact);
    artifact
}

fn parts_from_one(object: &mut Value) {
    let parts = match object["parts"].take() {
        Value::Array(parts) => parts.into_iter().map(part_from_one).collect(),
        _ => Vec::new(),
    };
    object["parts"] = parts.into();
}

fn part_from_one(mut part: Value) -> Value {
    let mut old = Map::new();
    let mut set = |key: &str, value: Value| {
        old.insert(key.to_owned(), value);
    };
    if part.get("text").is_some() {
        set("kind", "text".into());
        set("text", part["text"].take());
    } else if part.get("data").is_some() {
        set("kind", "data".into());
        set(
            "data",
            match part["data"].take() {
                object @ Value::Object(_) => object,
                // 0.3 has objects alone.
                value => json!({ "value": value }),
            },
        );
    } else {
        set("kind", "file".into());
        let mut file = Map::new();
        for (key, one) in [
            ("uri", "url"),
            ("bytes", "raw"),
            ("name", "filename"),
            ("mimeType", "mediaType"),
        ] {
            if let Some(value) = part.get_mut(one) {
                file.insert(key.to_owned(), value.take());
            }
        }
        set("file", Value::Object(file));
    }
    if let Some(metadata) = part.get_mut("metadata") {
        set("metadata", metadata.take());
    }
    Value::Object(old)
}
