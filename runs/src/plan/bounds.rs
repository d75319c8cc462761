//! How much of everything there may be. Plans are written by models: what is too large or too deep is refused before it is looked at.

use serde_json::Value;

/// The largest plan, and the largest patch, in bytes of JSON, roughly.
pub(super) const MAX_PLAN_BYTES: usize = 256 * 1024;

/// The deepest nesting of a plan, a payload or a patch.
pub(super) const MAX_DEPTH: usize = 32;

/// The most operations of a patch.
pub(super) const MAX_OPERATIONS: usize = 256;

/// The most that a payload may be with what it refers to, in bytes of JSON, roughly: what the hub takes as one message.
pub(super) const MAX_RESOLVED_BYTES: usize = 1024 * 1024;

/// The most attempts at a step.
pub(super) const MAX_ATTEMPTS: u32 = 10;

/// The longest pause between attempts, and the longest time for one, in milliseconds: a day.
pub(super) const MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// The most text that a result may have around references, in characters for each text: enough for a label, too little for a work.
pub(super) const MAX_RESULT_TEXT: usize = 120;

/// The faults that are told; the rest is counted.
pub(super) const MAX_FAULTS: usize = 16;

/// The bytes of the value as JSON, roughly: more than `most` if it is larger than that.
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
        // The longest that is written for a number.
        Value::Number(_) => 24,
    };
    inner + 2
}

/// Whether something in the value is deeper than this.
pub(super) fn is_deeper(value: &Value, most: usize) -> bool {
    let within = |inner: &Value| most == 0 || is_deeper(inner, most - 1);
    match value {
        Value::Object(fields) => fields.values().any(within),
        Value::Array(items) => items.iter().any(within),
        _ => false,
    }
}
