//! Validation against the JSON Schemas of agents.
//!
//! Cards are written by strangers. A schema that cannot be compiled within bounds is treated as one that allows any
//! value.

use jsonschema::Validator;
use serde_json::Value;

use super::{
    bounds::MAX_FAULTS,
    faults::{excerpt, sentence},
};
use crate::schema;

/// Violations of the schema, one line each, at most 16; empty if the value fits, or if the schema cannot be compiled.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let Some(validator) = compiled(schema) else {
        return Vec::new();
    };
    let errors = validator.iter_errors(value).take(MAX_FAULTS);
    errors
        .map(|error| {
            // Masked: the value may be long, and the reader has it.
            let why = error.masked_with("the value");
            match error.instance_path().to_string() {
                whole if whole.is_empty() => sentence(&why.to_string()),
                path => sentence(&format!("at {}: {why}", excerpt(&path))),
            }
        })
        .collect()
}

/// Compiles a schema into a validator.
pub(super) fn compiled(of: &Value) -> Option<Validator> {
    schema::bounded().build(of).ok()
}
