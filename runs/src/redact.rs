//! Redaction of secrets, recognised by field names and by their shapes.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};
use serde_json::Value;

/// Replacement of a secret.
const REDACTED: &str = "[redacted]";

/// Maximum characters of a shown error.
const MAX_ERROR: usize = 500;

/// Maximum bytes of a shown value, as JSON.
const MAX_SHOWN: usize = 2 * 1024;

/// Nesting below which values are shown as text.
const MAX_DEPTH: usize = 8;

/// Parts of the names of secret fields, without `_`, `-` and capitals.
const SECRET_NAMES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "token",
    "bearer",
    "signature",
];

/// Words that follow `token` in the name of a count of tokens.
const COUNTS: [&str; 5] = ["count", "limit", "budget", "usage", "total"];

/// Patterns of well-known secrets. If a pattern has a group, the group is the secret.
static SHAPES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let shapes = [
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
        r"\b(?:AKIA|ASIA|ABSK)[A-Za-z0-9+/=]{16,}",
        r"\bAIza[A-Za-z0-9_-]{30,}",
        r"\bya29\.[A-Za-z0-9_-]{16,}",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"(?i)\b(?:bearer|authorization:\s*basic)\s+([A-Za-z0-9._~+/=-]{12,})",
        r"://[^/\s:@]+:([^/\s@]+)@",
        r#"(?i)\b(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|token)["']?\s*[=:]\s*["']?([^\s"',;&]+)"#,
    ];
    shapes
        .iter()
        .map(|shape| Regex::new(shape).expect("the patterns in the source are valid"))
        .collect()
});

/// The text with secrets replaced.
pub fn text(text: &str) -> Cow<'_, str> {
    SHAPES.iter().fold(Cow::Borrowed(text), |text, shape| {
        let found = shape.replace_all(&text, |found: &Captures<'_>| {
            let whole = found.get_match();
            let Some(secret) = found.get(1) else {
                return REDACTED.to_owned();
            };
            let (start, end) = (secret.start() - whole.start(), secret.end() - whole.start());
            let whole = whole.as_str();
            format!("{}{REDACTED}{}", &whole[..start], &whole[end..])
        });
        let changed = match found {
            Cow::Borrowed(_) => None,
            Cow::Owned(changed) => Some(changed),
        };
        changed.map_or(text, Cow::Owned)
    })
}

/// An error for watchers: secrets replaced, at most 500 characters.
pub fn error(error: &str) -> String {
    let clean = text(error);
    match clean.char_indices().nth(MAX_ERROR) {
        None => clean.into_owned(),
        Some(_) => clean.chars().take(MAX_ERROR - 1).chain(['…']).collect(),
    }
}

/// A value for watchers: secrets replaced, at most 2 KiB.
pub fn value(value: &Value) -> Value {
    let clean = without_secrets(value);
    let is_small = |json: &str| json.len() <= MAX_SHOWN;
    match clean {
        Value::String(text) => Value::String(head(text, MAX_SHOWN)),
        clean => {
            let json = clean.to_string();
            match is_small(&json) && depth(&clean) <= MAX_DEPTH {
                true => clean,
                false => Value::String(head(json, MAX_SHOWN)),
            }
        }
    }
}

/// The first `max_bytes` bytes of a text, and the size of the rest in words.
pub fn head(mut text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let end = text.floor_char_boundary(max_bytes);
    let left_out = text.len() - end;
    text.truncate(end);
    text.push_str(&format!(" [… {left_out} bytes left out]"));
    text
}

fn without_secrets(value: &Value) -> Value {
    match value {
        Value::String(found) => Value::String(text(found).into_owned()),
        Value::Array(items) => items.iter().map(without_secrets).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match is_secret(name, value) {
                true => (name.clone(), Value::from(REDACTED)),
                false => (name.clone(), without_secrets(value)),
            })
            .collect(),
        other => other.clone(),
    }
}

/// True if a field of this name is secret. Token counts and booleans are not.
fn is_secret(name: &str, value: &Value) -> bool {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    match value {
        Value::Bool(_) | Value::Null => return false,
        Value::Number(_) if counts_tokens(&letters) => return false,
        _ => {}
    }
    SECRET_NAMES.iter().any(|secret| letters.contains(secret))
}

/// True for names of counts: `tokens`, `max_tokens`, `token_count`, `tokens_used`.
fn counts_tokens(letters: &str) -> bool {
    let others = letters.replacen("tokens", "", 1);
    let is_count = letters.contains("tokens")
        || COUNTS
            .iter()
            .any(|count| letters.contains(&format!("token{count}")));
    is_count
        && !SECRET_NAMES
            .iter()
            .any(|secret| others.contains(secret) && *secret != "token")
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_known_by_their_shape() {
        for (before, after) in [
            ("nothing here", "nothing here"),
            (
                "key sk-proj-abcdefghijklmnop1234 was refused",
                "key [redacted] was refused",
            ),
            (
                "ghp_abcdefghijklmnopqrstuvwxyz0123, AKIAABCDEFGHIJKLMNOP",
                "[redacted], [redacted]",
            ),
            (
                "Authorization: Bearer abc.def-123456",
                "Authorization: Bearer [redacted]",
            ),
            (
                "postgres://ann:hunter2@db/x failed",
                "postgres://ann:[redacted]@db/x failed",
            ),
            (
                "DB_PASSWORD=hunter2 and user=ann",
                "DB_PASSWORD=[redacted] and user=ann",
            ),
            ("{\"api_key\": \"abc\"}", "{\"api_key\": \"[redacted]\"}"),
            (
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl!",
                "[redacted]!",
            ),
            (
                "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
                "a [redacted] b",
            ),
            ("it used 12 tokens", "it used 12 tokens"),
        ] {
            assert_eq!(text(before), after);
        }
    }

    #[test]
    fn secrets_are_known_by_the_names_of_their_fields() {
        let value = json!({
            "user": "ann",
            "Api-Key": "k",
            "nested": [{"clientSecret": {"a": 1}, "max_tokens": 12}],
            "url": "https://ann:pw@example.com/",
        });
        let expected = json!({
            "user": "ann",
            "Api-Key": "[redacted]",
            "nested": [{"clientSecret": "[redacted]", "max_tokens": 12}],
            "url": "https://ann:[redacted]@example.com/",
        });
        assert_eq!(super::value(&value), expected);
    }

    #[test]
    fn numbers_are_secrets_unless_they_count_tokens() {
        let shown = super::value(&json!({
            "password": 12345678, "pin_token": 1234, "apiKey": 7, "token": 5, "secretTokens": 9,
            "tokens": 1, "max_tokens": 2, "inputTokens": 3, "token_count": 4, "has_token": true,
        }));
        let expected = json!({
            "password": REDACTED, "pin_token": REDACTED, "apiKey": REDACTED, "token": REDACTED, "secretTokens": REDACTED,
            "tokens": 1, "max_tokens": 2, "inputTokens": 3, "token_count": 4, "has_token": true,
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_long_or_deep_becomes_a_short_text() {
        let long = super::value(&json!({"a": "x".repeat(5_000), "password": "hunter2"}));
        let text = long.as_str().expect("a text");
        assert!(text.len() < MAX_SHOWN + 40 && text.ends_with("bytes left out]"));
        let mut deep = json!(1);
        for _ in 0..20 {
            deep = json!([deep]);
        }
        assert!(super::value(&deep).is_string());
        let failure = error(&"ä".repeat(1_000));
        assert_eq!(failure.chars().count(), MAX_ERROR);
        assert!(failure.ends_with('…'));
    }
}
