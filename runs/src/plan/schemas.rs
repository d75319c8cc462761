//! JSON Schemas of agents: whether a value fits one.
//!
//! Cards are written by strangers. A schema that can't be compiled within bounds is taken as one that allows anything.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use super::{
    bounds::MAX_FAULTS,
    faults::{shown, told},
};

/// The largest pattern, in bytes once compiled.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// What in the value does not fit the schema, one line each, at most 16; nothing if it fits, or if the schema is not understood.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let Some(validator) = compiled(schema) else {
        return Vec::new();
    };
    let errors = validator.iter_errors(value).take(MAX_FAULTS);
    errors
        .map(|error| {
            // Without the value, which may be long and is known.
            let why = error.masked_with("the value");
            match error.instance_path().to_string() {
                whole if whole.is_empty() => told(&why.to_string()),
                path => told(&format!("at {}: {why}", shown(&path))),
            }
        })
        .collect()
}

/// The schema, ready to validate.
pub(super) fn compiled(schema: &Value) -> Option<Validator> {
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    let options = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .offline();
    options.build(schema).ok()
}
