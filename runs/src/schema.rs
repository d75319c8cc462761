//! JSON Schemas, walked keyword by keyword: a schema is where a keyword has one, and nowhere in the values of `enum`, `const` or `default`.

mod misfits;
mod order;

use jsonschema::{Draft, PatternOptions, ValidationOptions};
use serde_json::{Map, Value};

pub use misfits::{CompiledSchema, Misfit, misfits};
pub use order::{APART, ASCENDING, options};

/// Maximum compiled bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// The keywords whose value is a schema.
const SCHEMA: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The keywords whose value is an array of schemas; `items` in drafts before 2020-12.
const SCHEMAS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];

/// The keywords whose value is an object of schemas.
const NAMED: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Changes a schema and then those within it. As deep as the schema is, which `serde_json` bounds where it was read from a text.
pub fn change(schema: &mut Value, how: &dyn Fn(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else {
        return;
    };
    how(fields);
    for (keyword, value) in fields {
        match value {
            Value::Object(_) if SCHEMA.contains(&&**keyword) => change(value, how),
            Value::Array(schemas) if SCHEMAS.contains(&&**keyword) => {
                schemas.iter_mut().for_each(|schema| change(schema, how));
            }
            Value::Object(schemas) if NAMED.contains(&&**keyword) => {
                schemas.values_mut().for_each(|schema| change(schema, how));
            }
            _ => {}
        }
    }
}

/// True if this holds for a schema and for all within it that are objects.
pub fn all(schema: &Value, holds: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
    let Value::Object(fields) = schema else {
        return true;
    };
    holds(fields)
        && fields.iter().all(|(keyword, value)| match value {
            Value::Object(_) if SCHEMA.contains(&&**keyword) => all(value, holds),
            Value::Array(schemas) if SCHEMAS.contains(&&**keyword) => {
                schemas.iter().all(|schema| all(schema, holds))
            }
            Value::Object(schemas) if NAMED.contains(&&**keyword) => {
                schemas.values().all(|schema| all(schema, holds))
            }
            _ => true,
        })
}

/// The schema that a reference leads to, such as `#/$defs/Size`; `None` where that is in another document or is not there, or where the
/// reference is written with percent signs.
pub fn referred<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    let is_plain = !pointer.contains('%');
    is_plain.then(|| root.pointer(pointer)).flatten()
}

/// Options of a validator for the schemas of strangers: JSON Schema 2020-12, patterns that are matched in bounded time and space, no
/// references to other documents.
pub fn bounded<'r>() -> ValidationOptions<'r> {
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .offline()
}

/// A value as JSON, whole numbers without a fraction.
fn plain(value: &Value) -> String {
    match value.as_f64().filter(|number| number.fract() == 0.0) {
        Some(number) if number.abs() < 1e15 => format!("{number:.0}"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    /// Each schema in it has a `mark`, and what only looks like one has none.
    fn marked() -> Value {
        let leaf = json!({"mark": true});
        let mut schema = json!({
            "mark": true,
            "enum": [{"properties": {"a": {}}}],
            "const": {"items": {}},
            "default": {"$defs": {"a": {}}},
            "examples": [{"not": {}}],
            "additionalProperties": false,
            "properties": {
                "items": leaf, "enum": leaf, "$ref": leaf,
                "nested": {"mark": true, "items": {"mark": true, "anyOf": [leaf, true]}},
            },
            "required": ["items"],
        });
        for keyword in SCHEMA {
            if keyword != "additionalProperties" {
                schema[keyword] = leaf.clone();
            }
        }
        for keyword in SCHEMAS {
            if keyword != "items" {
                schema[keyword] = json!([leaf, leaf]);
            }
        }
        for keyword in NAMED {
            if keyword != "properties" {
                schema[keyword] = json!({"one": leaf, "not": leaf});
            }
        }
        schema
    }

    #[test]
    fn every_schema_is_seen_once_and_nothing_else() {
        let marks = marked().to_string().matches("\"mark\":true").count();
        let seen = Cell::new(0);
        let count = |fields: &Map<String, Value>| {
            seen.set(seen.get() + 1);
            fields.contains_key("mark")
        };
        assert!(all(&marked(), &count), "only schemas are seen");
        assert_eq!(seen.get(), marks);

        let mut schema = marked();
        change(&mut schema, &|fields| _ = fields.remove("mark"));
        assert!(!schema.to_string().contains("mark"), "{schema}");
        let others = |schema: &Value| {
            let keep = |key: &&str| schema.get(*key).is_some();
            let keys = ["enum", "const", "default", "examples", "required"];
            keys.iter().filter(|key| keep(key)).count()
        };
        assert_eq!(others(&schema), 5);
        assert_eq!(schema["default"], marked()["default"]);
    }

    #[test]
    fn one_schema_that_does_not_hold_is_enough() {
        let array = json!({"items": [{"type": "object"}, {"type": "null"}]});
        assert!(!all(&array, &|fields| fields.get("type") != Some(&json!("null"))));
        assert!(all(&json!(true), &|_| false), "it is no object");
    }

    #[test]
    fn references_lead_within_the_document() {
        let root = json!({"$defs": {"a/b": 1}, "b": 2});
        assert_eq!(referred(&root, "#/$defs/a~1b"), Some(&json!(1)));
        assert_eq!(referred(&root, "#"), Some(&root));
        for lost in ["#/c", "b", "https://example.com/#/b", "#/%62"] {
            assert_eq!(referred(&root, lost), None, "{lost}");
        }
    }
}
