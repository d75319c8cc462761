//! The acceptance criteria, as texts.

use serde_json::Value;

/// The criteria as all who judge them know them: each has a text, without space around it.
pub(super) fn named(criteria: &[Value]) -> Vec<Value> {
    let named = criteria
        .iter()
        .zip(1..)
        .map(|(criterion, number)| match criterion {
            Value::String(text) => text.trim().into(),
            Value::Object(fields) => {
                let mut fields = fields.clone();
                let text = fields.get("text").and_then(Value::as_str).map(str::trim);
                let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
                let check = fields.get("check").unwrap_or(&Value::Null);
                let checked = check["kind"]
                    .as_str()
                    .map(|kind| format!("check {kind} {}", check["value"]));
                let text = text.or(checked);
                let text = text.unwrap_or_else(|| format!("criterion {number}"));
                fields.insert("text".into(), text.into());
                fields.into()
            }
            other => other.clone(),
        });
    named.collect()
}

/// True if all of the criteria stand in what a reviewer was given.
pub(super) fn knows(given: &Value, criteria: &[Value]) -> bool {
    fn stands_in(value: &Value, text: &str) -> bool {
        match value {
            Value::String(found) => same(found, text),
            Value::Array(items) => items.iter().any(|item| stands_in(item, text)),
            Value::Object(fields) => fields.values().any(|field| stands_in(field, text)),
            _ => false,
        }
    }
    criteria
        .iter()
        .all(|criterion| stands_in(given, &words(criterion)))
}

/// A criterion in words.
pub(super) fn words(criterion: &Value) -> String {
    match criterion {
        Value::String(words) => words.clone(),
        other => match other["text"].as_str() {
            Some(words) => words.to_owned(),
            None => other.to_string(),
        },
    }
}

/// True if two texts are the same but for the space between words.
pub(super) fn same(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}
