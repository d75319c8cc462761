//! Inputs of an orchestrator, from `--input NAME=VALUE`.

use std::collections::BTreeMap;

use agenthub_mcp::toolshed::closest;
use serde_json::{Map, Value, json};

/// The inputs as data that the schema takes; nothing without inputs. A name may come several times where it takes a list.
///
/// # Errors
///
/// In one line that says which input is wrong, and what is allowed.
pub(super) fn inputs(schema: &Value, given: &[(String, String)]) -> Result<Option<Value>, String> {
    if given.is_empty() {
        return Ok(None);
    }
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    let mut texts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, text) in given {
        if !known.contains_key(name) {
            return Err(unknown(name, known));
        }
        if text.trim().is_empty() {
            return Err(format!(
                "the input {name} is empty: leave it out, or give it a value"
            ));
        }
        texts.entry(name).or_default().push(text);
    }
    let mut data = Map::new();
    for (name, texts) in texts {
        data.insert(name.to_owned(), value(name, &texts, &known[name])?);
    }
    Ok(Some(Value::Object(data)))
}

/// The inputs that have to be given with these and are not.
pub(super) fn missing(schema: &Value, given: &Value) -> Vec<String> {
    let required = schema["required"].as_array().into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    names
        .filter(|name| given.get(name).is_none())
        .filter(|name| schema["properties"][name].get("default").is_none())
        .map(str::to_owned)
        .collect()
}

fn value(name: &str, texts: &[&str], schema: &Value) -> Result<Value, String> {
    let kind = schema["type"].as_str().unwrap_or("string");
    if kind == "array" {
        return Ok(match texts {
            [one] => match serde_json::from_str::<Value>(one) {
                Ok(list @ Value::Array(_)) => list,
                _ => json!([one]),
            },
            several => json!(several),
        });
    }
    let [text] = texts else {
        return Err(format!(
            "the input {name} is given {} times, and takes one value",
            texts.len()
        ));
    };
    let wrong = |wanted: &str| format!("the input {name} takes {wanted}, and `{text}` is none");
    match kind {
        "number" | "integer" => serde_json::from_str::<Value>(text.trim())
            .ok()
            .filter(Value::is_number)
            .ok_or_else(|| wrong("a number")),
        "boolean" => match text.trim().to_lowercase().as_str() {
            "true" | "yes" => Ok(true.into()),
            "false" | "no" => Ok(false.into()),
            _ => Err(wrong("true or false")),
        },
        _ => match schema["enum"].as_array() {
            Some(allowed) if !allowed.contains(&json!(text)) => {
                let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
                Err(format!(
                    "the input {name} takes one of {}, and `{text}` is none of them",
                    allowed.join(", ")
                ))
            }
            _ => Ok(json!(text)),
        },
    }
}

fn unknown(name: &str, known: &Map<String, Value>) -> String {
    let names = || known.keys().map(String::as_str);
    let help = match closest(name, names()) {
        Some(close) => format!("did you mean {close}?"),
        None if known.is_empty() => "it takes none: say it in the request".to_owned(),
        None => format!("it takes {}", names().collect::<Vec<_>>().join(", ")),
    };
    format!("the orchestrator takes no input {name}; {help}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &[(&str, &str)]) -> Result<Option<Value>, String> {
        let schema = json!({
            "type": "object",
            "properties": {
                "tone": {"type": "string", "enum": ["kind", "strict"]},
                "words": {"type": "number"},
                "draft": {"type": "boolean", "default": false},
                "topics": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["tone", "draft"],
        });
        let given: Vec<_> = given
            .iter()
            .map(|(name, text)| (name.to_string(), text.to_string()))
            .collect();
        inputs(&schema, &given)
    }

    #[test]
    fn an_empty_input_is_refused() {
        for empty in [("tone", ""), ("topics", " ")] {
            let refused = check(&[empty]);
            assert!(
                refused.is_err_and(|why| why.contains("is empty")),
                "{empty:?}"
            );
        }
    }

    #[test]
    fn texts_become_what_the_schema_takes() {
        assert_eq!(check(&[]), Ok(None));
        let given = [
            ("tone", "kind"),
            ("words", "300"),
            ("draft", "yes"),
            ("topics", "a, b"),
            ("topics", "c"),
        ];
        let expected =
            json!({"tone": "kind", "words": 300, "draft": true, "topics": ["a, b", "c"]});
        assert_eq!(check(&given), Ok(Some(expected)));
        let list = check(&[("topics", "[\"a\", \"b\"]")]);
        assert_eq!(list, Ok(Some(json!({"topics": ["a", "b"]}))));
        assert_eq!(
            check(&[("topics", "a")]),
            Ok(Some(json!({"topics": ["a"]})))
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_is_allowed() {
        for (given, parts) in [
            (&[("tine", "kind")][..], &["tine", "did you mean tone"][..]),
            (&[("zzz", "kind")], &["zzz", "tone", "topics"]),
            (&[("tone", "rude")], &["rude", "kind, strict"]),
            (&[("words", "many")], &["words", "a number", "many"]),
            (&[("draft", "maybe")], &["draft", "true or false"]),
            (&[("words", "1"), ("words", "2")], &["words", "2 times"]),
        ] {
            let error = check(given).expect_err("it does not fit");
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        let bare = inputs(&json!({"properties": {}}), &[("a".into(), "b".into())]);
        assert!(
            bare.expect_err("it takes none")
                .contains("say it in the request")
        );
    }

    #[test]
    fn what_is_required_and_has_no_default_is_missed() {
        let schema = json!({
            "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}},
            "required": ["a", "b"],
        });
        assert_eq!(missing(&schema, &json!({})), ["a"]);
        assert_eq!(missing(&schema, &json!({"a": "1"})), Vec::<String>::new());
    }
}
