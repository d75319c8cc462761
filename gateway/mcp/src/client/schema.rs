//! Schemas of a server's tools: those that an agent can use, and the changes that they need.
//!
//! Parts of a schema that are left out here are still checked by the server itself.

use agenthub_sdk::{Tool, runs::schema::change};
use serde_json::{Map, Value, json};

/// The longest schema, in bytes of JSON: a model reads all of it.
const MAX_BYTES: usize = 32 * 1024;

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// A schema that an agent can use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) schema: Value,
    /// Changes that matter, if there are any.
    pub(super) changed: Option<&'static str>,
}

/// The schema of a tool's input, changed as little as it takes.
///
/// # Errors
///
/// The reason why no agent can use it.
pub(super) fn fit(schema: Option<&Value>) -> Result<Fit, String> {
    let mut schema = match schema {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(schema)) => schema.clone(),
        Some(_) => return Err("the schema of its input is no JSON object".to_owned()),
    };
    let bytes = Value::Object(schema.clone()).to_string().len();
    if bytes > MAX_BYTES {
        return Err(format!(
            "the schema of its input has {bytes} bytes, and {MAX_BYTES} are the most"
        ));
    }
    // Tools take objects, whether or not their schema says so.
    match schema.get("type") {
        None | Some(Value::Null) => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.contains(&json!("object")) => {}
        Some(kind) => return Err(format!("its input is of type {kind}, not an object")),
    }
    schema.insert("type".to_owned(), json!("object"));
    schema.remove("$schema");
    let mut schema = Value::Object(schema);
    if Tool::check_schema(&schema).is_ok() {
        return Ok(Fit {
            schema,
            changed: None,
        });
    }
    change(&mut schema, &renew);
    if Tool::check_schema(&schema).is_ok() {
        let changed = Some("its schema, of an older draft, was read as JSON Schema 2020-12");
        return Ok(Fit { schema, changed });
    }
    change(&mut schema, &loosen);
    Tool::check_schema(&schema).map(|()| Fit {
        schema,
        changed: Some(
            "references to other documents and patterns of its schema are left to the server",
        ),
    })
}

/// Brings the keywords of older drafts to 2020-12.
fn renew(schema: &mut Map<String, Value>) {
    for keyword in ["$schema", "$id", "id"] {
        // A property may be called `id`, but that is no keyword of the object it is in.
        if schema.get(keyword).is_some_and(Value::is_string) {
            schema.remove(keyword);
        }
    }
    if let Some(Value::Array(_)) = schema.get("items") {
        let first = schema.remove("items").unwrap_or_default();
        schema.insert("prefixItems".to_owned(), first);
        if let Some(rest) = schema.remove("additionalItems") {
            schema.insert("items".to_owned(), rest);
        }
    }
    for (exclusive, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(Value::Bool(is_exclusive)) = schema.get(exclusive).cloned() {
            schema.remove(exclusive);
            if is_exclusive && let Some(value) = schema.remove(limit) {
                schema.insert(exclusive.to_owned(), value);
            }
        }
    }
    let unfit = |keyword: &str, is_fit: fn(&Value) -> bool| (keyword.to_owned(), is_fit);
    for (keyword, is_fit) in [
        unfit("required", Value::is_array),
        unfit("properties", Value::is_object),
        unfit("type", is_type),
        unfit("enum", Value::is_array),
    ] {
        if schema.get(&keyword).is_some_and(|value| !is_fit(value)) {
            schema.remove(&keyword);
        }
    }
}

fn is_type(value: &Value) -> bool {
    let is_one = |value: &Value| value.as_str().is_some_and(|kind| TYPES.contains(&kind));
    match value {
        Value::Array(kinds) => !kinds.is_empty() && kinds.iter().all(is_one),
        value => is_one(value),
    }
}

/// Takes out what cannot be followed or understood here.
fn loosen(schema: &mut Map<String, Value>) {
    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
        let target = schema.get(keyword).and_then(Value::as_str);
        if target.is_some_and(|target| !target.starts_with('#')) {
            schema.remove(keyword);
        }
    }
    for keyword in ["pattern", "patternProperties", "format"] {
        schema.remove(keyword);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(schema: Value) -> Fit {
        fit(Some(&schema)).expect("it can be used")
    }

    #[test]
    fn what_fits_stays_as_it_is_and_is_an_object() {
        let schema =
            json!({"type": "object", "properties": {"id": {"type": "string", "pattern": "^a"}}});
        assert_eq!(
            fitted(schema.clone()),
            Fit {
                schema,
                changed: None
            }
        );
        for bare in [
            json!({}),
            json!({"type": ["object", "null"]}),
            json!({"type": null}),
        ] {
            assert_eq!(fitted(bare).schema, json!({"type": "object"}));
        }
        assert_eq!(fit(None).map(|f| f.schema), Ok(json!({"type": "object"})));
    }

    #[test]
    fn older_drafts_are_renewed() {
        let draft_07 = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "id": {"$ref": "#/definitions/id"},
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}], "additionalItems": false},
                "n": {"type": "number", "minimum": 1, "exclusiveMinimum": true},
                "any": {"type": "any", "required": true},
            },
            "definitions": {"id": {"$id": "#id", "type": "integer"}},
        });
        let Fit { schema, changed } = fitted(draft_07);
        assert!(changed.is_some_and(|c| c.contains("older draft")));
        assert_eq!(
            schema["properties"],
            json!({
                "id": {"$ref": "#/definitions/id"},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": false},
                "n": {"type": "number", "exclusiveMinimum": 1},
                "any": {},
            })
        );
        assert_eq!(schema["definitions"]["id"], json!({"type": "integer"}));
    }

    #[test]
    fn what_cannot_be_followed_is_left_to_the_server() {
        let far = json!({"properties": {"a": {"$ref": "https://example.com/s.json", "description": "it"}}});
        let Fit { schema, changed } = fitted(far);
        assert_eq!(schema["properties"]["a"], json!({"description": "it"}));
        assert!(changed.is_some_and(|c| c.contains("left to the server")));
    }

    #[test]
    fn what_no_agent_can_use_is_refused_in_words() {
        let long = json!({"description": "x".repeat(MAX_BYTES)});
        for (schema, part) in [
            (json!([1]), "no JSON object"),
            (json!({"type": "string"}), "of type \"string\""),
            (long, "are the most"),
            (json!({"$ref": "#/definitions/nothing"}), "invalid"),
        ] {
            let error = fit(Some(&schema)).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }
}
