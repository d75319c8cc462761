//! Finds the decision in what a model wrote, and brings it into the one form that the schema describes.
//!
//! Tolerated: prose and code fences around the JSON, a single action or a list of them without the object around, trailing
//! commas, and the field names of older prompts. Whether the decision is allowed is not asked here.

use serde_json::{Map, Value};

/// The places that are tried before the answer counts as one without a decision.
const MAX_STARTS: usize = 64;

/// The names that a field may have; the first is the one of the schema.
const FIELDS: [&[&str]; 7] = [
    &["type", "action"],
    &["text", "responseText", "response_text"],
    &["taskType", "task_type"],
    &["targetAgent", "target_agent"],
    &["words"],
    &["payload", "taskPayload", "task_payload"],
    &["correlationId", "correlation_id"],
];

/// The decision in the answer as `{"actions": […]}` with the schema's field names and no others; `None` if there is none.
pub(crate) fn find(answer: &str) -> Option<Value> {
    let mut bare = None;
    for (start, _) in answer.match_indices(['{', '[']).take(MAX_STARTS) {
        let Some(value) = value_at(&answer[start..]) else {
            continue;
        };
        match value {
            Value::Object(mut object) => {
                if let Some(Value::Array(actions)) = object.remove("actions") {
                    return Some(canonical(actions));
                }
                if is_action(&object) {
                    bare.get_or_insert_with(|| vec![Value::Object(object)]);
                }
            }
            Value::Array(items) if items.iter().any(is_action_value) => {
                bare.get_or_insert(items);
            }
            _ => {}
        }
        if bare.is_some() {
            break;
        }
    }
    bare.map(canonical)
}

/// The first JSON value of the text, whatever follows it.
fn value_at(text: &str) -> Option<Value> {
    let parse = |text: &str| {
        serde_json::Deserializer::from_str(text)
            .into_iter::<Value>()
            .next()
            .and_then(Result::ok)
    };
    parse(text).or_else(|| parse(&without_trailing_commas(text)?))
}

/// The text without commas that stand before a closing bracket; `None` if there are none.
fn without_trailing_commas(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped, mut comma) = (false, false, None);
    let mut changed = false;
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            (in_string, comma) = (true, None);
        } else if c == ',' {
            comma = Some(out.len());
        } else if matches!(c, '}' | ']')
            && let Some(at) = comma.take()
        {
            out.remove(at);
            changed = true;
        } else if !c.is_whitespace() {
            comma = None;
        }
        out.push(c);
    }
    changed.then_some(out)
}

fn is_action_value(value: &Value) -> bool {
    value.as_object().is_some_and(is_action)
}

fn is_action(object: &Map<String, Value>) -> bool {
    FIELDS[..4].iter().any(|names| {
        names
            .iter()
            .any(|name| object.get(*name).is_some_and(Value::is_string))
    })
}

/// An action with the schema's field names and no others.
pub(crate) fn action(fields: Map<String, Value>) -> Value {
    Value::Object(canonical_fields(fields))
}

fn canonical(actions: Vec<Value>) -> Value {
    let actions = actions.into_iter().map(|value| match value {
        Value::Object(fields) => action(fields),
        other => other,
    });
    Value::Object(Map::from_iter([(
        "actions".to_owned(),
        actions.collect::<Vec<_>>().into(),
    )]))
}

fn canonical_fields(mut fields: Map<String, Value>) -> Map<String, Value> {
    let mut canonical = Map::new();
    for names in FIELDS {
        let value = names.iter().find_map(|name| match fields.remove(*name) {
            None | Some(Value::Null) => None,
            value => value,
        });
        if let Some(value) = value {
            canonical.insert(names[0].to_owned(), value);
        }
    }
    if !canonical.contains_key("type") {
        let kind = if canonical.contains_key("targetAgent") {
            "task.request"
        } else {
            "chat.response"
        };
        canonical.insert("type".to_owned(), kind.into());
    }
    // Words for the user are its text.
    if canonical["type"] == "chat.response" {
        canonical.remove("words");
    }
    // A name that is a number is still a name.
    if let Some(Value::Number(number)) = canonical.get("correlationId") {
        let name = number.to_string();
        canonical.insert("correlationId".to_owned(), name.into());
    }
    canonical
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn hello() -> Value {
        json!({"actions": [{"type": "chat.response", "text": "hello"}]})
    }

    #[test]
    fn the_decision_is_found_in_what_surrounds_it() {
        let cases = [
            r#"{"actions":[{"type":"chat.response","text":"hello"}]}"#,
            "```json\n{\"actions\":[{\"type\":\"chat.response\",\"text\":\"hello\"}]}\n```",
            r#"Sure! [I think] {so}: {"actions":[{"type":"chat.response","text":"hello"}]} Done."#,
            r#"{"type":"chat.response","text":"hello"}"#,
            r#"[{"type":"chat.response","text":"hello"}]"#,
            r#"{"actions":[{"type":"chat.response","text":"hello",},],}"#,
            r#"{"reasoning":"easy","actions":[{"type":"chat.response","response_text":"hello"}]}"#,
            r#"{"actions":[{"action":"chat.response","responseText":"hello","note":"x"}]}"#,
            r#"{"actions":[{"text":"hello"}]}"#,
        ];
        for case in cases {
            assert_eq!(find(case), Some(hello()), "{case}");
        }
    }

    #[test]
    fn older_field_names_of_a_task_are_read() {
        let answer = r#"{"actions":[{"type":"task.request","task_type":"echo","target_agent":"a","task_payload":{"x":1},"correlation_id":7}]}"#;
        assert_eq!(
            find(answer),
            Some(
                json!({"actions": [{"type": "task.request", "taskType": "echo", "targetAgent": "a", "payload": {"x": 1}, "correlationId": "7"}]})
            )
        );
    }

    #[test]
    fn commas_in_texts_stay() {
        let answer = r#"{"actions":[{"type":"chat.response","text":"a,]\",}"},]}"#;
        assert_eq!(
            find(answer),
            Some(json!({"actions": [{"type": "chat.response", "text": "a,]\",}"}]}))
        );
    }

    #[test]
    fn what_is_no_decision_is_none() {
        for answer in [
            "",
            "hello",
            "{}",
            "[]",
            "[1, 2]",
            "{\"actions\":",
            "{\"actions\": 3}",
            "null",
        ] {
            assert_eq!(find(answer), None, "{answer}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(answer in "[\\[\\]{}\",:a\\\\ \n]{0,60}|.{0,60}") {
            find(&answer);
        }
    }
}
