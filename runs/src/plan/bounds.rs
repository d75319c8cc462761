//! Limits on size and depth. Plans are written by models: one that is too large or too deep is refused before it is
//! processed.

use serde_json::Value;

/// Maximum size of a plan or a patch, in approximate bytes of JSON.
pub(super) const MAX_PLAN_BYTES: usize = 256 * 1024;

/// Maximum nesting of a plan, a payload or a patch.
pub(super) const MAX_DEPTH: usize = 32;

/// Maximum operations of a patch.
pub(super) const MAX_OPERATIONS: usize = 256;

/// Maximum size of a payload with its references resolved, in approximate bytes of JSON: the hub's limit for a message.
pub(super) const MAX_RESOLVED_BYTES: usize = 1024 * 1024;

/// Maximum attempts at a step.
pub(super) const MAX_ATTEMPTS: u32 = 10;

/// Maximum pause between attempts and maximum timeout of an attempt, in milliseconds: one day.
pub(super) const MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// Maximum characters of literal text around the references of each text in a result: enough for a label, too little
/// for content.
pub(super) const MAX_RESULT_TEXT: usize = 120;

/// Maximum faults reported; the rest is counted.
pub(super) const MAX_FAULTS: usize = 16;

/// Approximate bytes of the value as JSON; counting stops above `most`.
pub(super) fn size(value: &Value, most: usize) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Object(fields) => {
            let mut sum = 0_usize;
            for (key, value) in fields {
                if sum > most {
                    break;
                }
                sum += key.len() + 4 + size(value, most - sum);
            }
            sum
        }
        Value::Array(items) => {
            let mut sum = 0_usize;
            for value in items {
                if sum > most {
                    break;
                }
                sum += 1 + size(value, most - sum);
            }
            sum
        }
        Value::Null | Value::Bool(_) => 4,
        // Upper bound of a number's length.
        Value::Number(_) => 24,
    };
    inner + 2
}

/// True if the value is nested deeper than `most`.
pub(super) fn is_deeper(value: &Value, most: usize) -> bool {
    let within = |inner: &Value| most == 0 || is_deeper(inner, most - 1);
    match value {
        Value::Object(fields) => fields.values().any(within),
        Value::Array(items) => items.iter().any(within),
        _ => false,
    }
}
