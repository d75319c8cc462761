//! Schema of the knobs, the settings of a text.

use serde_json::{Value, json};

use super::MOST_ITEMS;
use crate::text::measures::MEASURES;

/// The knobs, by name.
pub(crate) fn knobs(description: &str) -> Value {
    let kinds: Vec<&str> = MEASURES.iter().map(|(kind, ..)| *kind).collect();
    let number = json!({ "type": ["number", "null"] });
    let edge = |default: u8| json!({ "type": ["number", "null"], "default": default });
    let measure = json!({
        "type": ["string", "object", "null"],
        "if": { "type": "string" }, "then": { "enum": kinds },
        "properties": { "kind": { "enum": kinds }, "from": number, "to": number },
        "required": ["kind"],
        "additionalProperties": false,
        "x-apart": ["from", "to"],
    });
    json!({
        "type": ["object", "null"],
        "maxProperties": MOST_ITEMS,
        "description": description,
        "additionalProperties": {
            "type": ["number", "object", "null"], "minimum": 0, "maximum": 1,
            "description": "a setting from 0 to 1, or { value?, min?, max?, description?, measure? }",
            "properties": {
                "value": number, "min": edge(0), "max": edge(1), "measure": measure,
                "description": { "type": ["string", "null"] },
            },
            "additionalProperties": false,
            "x-ascending": ["min", "value", "max"],
            "x-apart": ["min", "max"],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{right, wrong},
        *,
    };

    /// spec: ORC-2.2
    #[test]
    fn knobs_that_make_no_sense_are_found() {
        let knobs = knobs("The knobs");
        right(
            &knobs,
            &[
                json!(null),
                json!({"a": 0.3, "b": null, "c": {}, "d": {"measure": "lix"}}),
                json!({"a": {"value": 3, "min": 1, "max": 5, "description": "d"}}),
                json!({"a": {"measure": {"kind": "sentence_length", "from": 25, "to": 5}}}),
            ],
        );
        wrong(
            &knobs,
            &[
                (
                    json!({"a": 17}),
                    "a is 17; it is at most 1 (a setting from 0 to 1, or {",
                ),
                (json!({"a": -0.1}), "a is -0.1; it is at least 0"),
                (
                    json!({"a": "high"}),
                    "a is \"high\"; it takes a number or an object",
                ),
                (
                    json!({"a": {"value": 17}}),
                    "a has `value` 17 above `max` 1 (the default)",
                ),
                (
                    json!({"a": {"min": 5, "max": 1}}),
                    "a has `min` 5 above `max` 1",
                ),
                (
                    json!({"a": {"vaule": 0.5}}),
                    "a.vaule is no field of it: it takes `value`",
                ),
                (
                    json!({"a": {"measure": "tempo"}}),
                    "a.measure is \"tempo\"; it takes one of sentence_length, ",
                ),
                (
                    json!({"a": {"measure": {"kind": "tempo"}}}),
                    "a.measure.kind is \"tempo\"; it takes one of",
                ),
                (
                    json!({"a": {"measure": {"from": 1}}}),
                    "a.measure lacks `kind`",
                ),
                (
                    json!({"a": {"measure": {"kind": "lix", "form": 1}}}),
                    "a.measure.form is no field",
                ),
                (
                    json!({"a": {"measure": {"kind": "lix", "from": 2, "to": 2}}}),
                    "a.measure has `from` 2 equal to",
                ),
            ],
        );
    }
}
