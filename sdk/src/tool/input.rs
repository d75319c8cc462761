//! Does this input fit the tool's schema?

use jsonschema::Validator;
use serde_json::Value;

use crate::schema;

/// The beginning of what a model is told about input that does not fit.
pub(super) const DOES_NOT_FIT: &str = "the arguments do not fit the tool's schema";

/// Compiles a schema.
///
/// # Errors
///
/// The fault of the schema, in words for the tool's author.
pub(super) fn compile(schema: &Value) -> Result<Validator, String> {
    let Some(fields) = schema.as_object() else {
        return Err("its schema is no JSON object".to_owned());
    };
    if let Some(kind) = fields.get("type").filter(|kind| *kind != "object") {
        return Err(format!(
            "its input is of type {kind}, but tools take an object: use a struct with named fields, or a schema of type \"object\""
        ));
    }
    schema::compile(schema)
}

/// The parts that do not fit: where, and what is expected there. The values themselves are not repeated.
pub(super) fn violations(validator: &Validator, input: &Value) -> Option<String> {
    let violations = schema::violations(validator, input)?;
    Some(format!("{DOES_NOT_FIT}: {violations}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// spec: AGT-11.3
    #[test]
    fn every_violation_is_told_with_its_place_and_without_the_value() {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1}, "words": {"type": "array", "items": {"type": "string"}}, "to": {}},
            "required": ["n", "to"],
            "additionalProperties": false,
        });
        let validator = compile(&schema).expect("a valid schema");
        let input = json!({"n": "s3cret", "words": ["a", 2], "x": 1});
        let told = violations(&validator, &input).expect("it does not fit");
        for part in [
            "at \"/n\"",
            "integer",
            "at \"/words/1\"",
            "string",
            "\"to\" is a required property",
            "'x'",
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert!(!told.contains("s3cret"), "{told}");
        assert_eq!(violations(&validator, &json!({"n": 2, "to": 1})), None);
    }

    #[test]
    fn many_violations_are_counted() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let validator = compile(&schema).expect("a valid schema");
        let input: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("k{n}"), json!(n))).collect();
        let told = violations(&validator, &Value::Object(input)).expect("nothing fits");
        assert!(told.ends_with("; and 24 more"), "{told}");
    }

    #[test]
    fn schemas_that_cannot_be_used_are_refused_in_words() {
        for (schema, part) in [
            (json!(true), "no JSON object"),
            (json!({"type": "string"}), "tools take an object"),
            (
                json!({"type": "object", "properties": {"a": {"type": "text"}}}),
                "invalid",
            ),
            (json!({"$ref": "https://example.com/s.json"}), "invalid"),
        ] {
            let error = compile(&schema).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }
}
