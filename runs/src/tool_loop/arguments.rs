//! Conversion of arguments to their schema.

use serde_json::{Map, Value};

/// Adds the schema's defaults for missing fields, in objects at any depth. Keywords other than `properties` and
/// `default` are ignored.
pub fn with_defaults(schema: &Value, mut value: Value) -> Value {
    fill(schema, &mut value);
    value
}

fn fill(schema: &Value, value: &mut Value) {
    let (Some(properties), Some(fields)) =
        (schema["properties"].as_object(), value.as_object_mut())
    else {
        return;
    };
    for (name, property) in properties {
        match (fields.get_mut(name), property.get("default")) {
            (Some(field), _) => fill(property, field),
            (None, Some(default)) => {
                fields.insert(name.clone(), default.clone());
            }
            (None, None) => {}
        }
    }
}

/// Arguments for the agent: with defaults, and without optional fields that the model set to null.
pub(super) fn given(schema: &Value, arguments: &Value) -> Map<String, Value> {
    let mut fields = arguments.as_object().cloned().unwrap_or_default();
    fields.retain(|name, value| !value.is_null() || takes_null(&schema["properties"][name]));
    match with_defaults(schema, Value::Object(fields)) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn takes_null(property: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    match &property["type"] {
        Value::Array(kinds) => kinds.iter().any(is_null),
        Value::Null => property["enum"]
            .as_array()
            .is_some_and(|values| values.contains(&Value::Null)),
        kind => is_null(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// spec: SOP-3.7, SOP-5.4
    #[test]
    fn what_is_not_given_has_its_default_and_what_is_given_stays() {
        let schema = json!({"properties": {
            "tone": {"type": "string", "default": "dry"},
            "words": {"type": "integer", "default": 300},
            "topic": {"type": "string"},
            "style": {"properties": {"font": {"default": "serif"}}},
        }});
        let filled = with_defaults(&schema, json!({"words": 5, "style": {}}));
        let expected = json!({"words": 5, "style": {"font": "serif"}, "tone": "dry"});
        assert_eq!(filled, expected);
        assert_eq!(with_defaults(&schema, json!("words")), json!("words"));
        assert_eq!(
            with_defaults(&json!(true), json!({"a": 1})),
            json!({"a": 1})
        );
    }

    #[test]
    fn a_null_that_stands_for_nothing_is_nothing() {
        let schema = json!({"properties": {
            "tone": {"type": "string", "default": "dry"},
            "until": {"type": ["string", "null"]},
            "level": {"enum": ["high", null]},
            "topic": {"type": "string"},
        }});
        let arguments = json!({"tone": null, "until": null, "level": null, "topic": null});
        let expected = json!({"tone": "dry", "until": null, "level": null});
        assert_eq!(Value::Object(given(&schema, &arguments)), expected);
        assert_eq!(given(&json!({}), &json!(null)), Map::new());
    }
}
