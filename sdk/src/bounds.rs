//! Bounds on what is passed on of others' words.

pub(crate) use agenthub_runs::redact::head;
use serde_json::Value;

/// The most of one result that a model is told, in bytes of JSON.
pub(crate) const MAX_TOLD: usize = 64 * 1024;

/// The value, if a model can be told all of it; else its beginning as text, with how much is left out.
pub(crate) fn told(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(head(text, MAX_TOLD)),
        value => {
            let json = value.to_string();
            match json.len() <= MAX_TOLD {
                true => value,
                false => Value::String(head(json, MAX_TOLD)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        assert_eq!(head("ää".into(), 4), "ää");
        assert_eq!(head("ääb".into(), 3), "ä [… 3 bytes left out]");
        assert_eq!(told(json!({"a": 1})), json!({"a": 1}));
        let long = json!({"a": "x".repeat(MAX_TOLD)});
        let cut = told(long);
        let text = cut.as_str().expect("a text");
        assert!(text.starts_with("{\"a\":\"xxx"), "{}", &text[..20]);
        assert!(text.ends_with("[… 8 bytes left out]"), "{text:.20}");
    }
}
