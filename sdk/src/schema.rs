//! Does this value fit that schema?

use jsonschema::{Draft, Validator};
use serde_json::Value;

/// The violations that are told; the rest is counted.
const MAX_TOLD: usize = 16;

/// Compiles a schema in JSON Schema 2020-12, without references to other documents.
///
/// # Errors
///
/// The fault of the schema, in words for its author.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    let options = agenthub_runs::schema::options()
        .with_draft(Draft::Draft202012)
        .offline();
    options
        .build(schema)
        .map_err(|error| format!("its schema is invalid at {:?}: {error}", place(&error)))
}

/// The parts that do not fit: where, and what is expected there. The values themselves are not repeated.
pub(crate) fn violations(validator: &Validator, value: &Value) -> Option<String> {
    let mut errors = validator.iter_errors(value).peekable();
    errors.peek()?;
    let mut lines: Vec<String> = Vec::new();
    let mut more = 0;
    for error in errors {
        match lines.len() < MAX_TOLD {
            true => lines.push(format!("at {:?}: {}", place(&error), error.masked())),
            false => more += 1,
        }
    }
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Some(lines.join("; "))
}

/// As a JSON Pointer; the whole is "/".
fn place(error: &jsonschema::ValidationError<'_>) -> String {
    match error.instance_path().to_string() {
        whole if whole.is_empty() => "/".to_owned(),
        path => path,
    }
}
