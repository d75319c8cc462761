//! Schema of acceptance criteria.

use serde_json::{Value, json};

use super::{MOST_ITEMS, SOMETHING, VISIBLE, counted};
use crate::text::measured::Measured;

/// Texts in the value of a check.
pub(crate) const MAX_TEXTS: usize = 100;

/// Criteria, in words or as checks.
pub(crate) fn acceptance_criteria() -> Value {
    let text = "contains|not_contains|starts_with|ends_with|matches|not_matches";
    let texts = "contains_any|contains_all";
    let names: Vec<&str> = Measured::ALL
        .iter()
        .map(|measured| measured.key())
        .collect();
    let kinds = format!("{text}|{texts}|max_lix").replace('|', ", ");
    let kinds = format!("{kinds}, and max_X and min_X of {}", names.join(", "));
    let when = |kinds: &str, value: Value| {
        json!({
            "if": { "properties": { "kind": { "type": "string", "pattern": format!("^({kinds})$") } } },
            "then": { "required": ["value"], "properties": { "value": value } },
        })
    };
    let visible = json!({ "type": "string", "pattern": VISIBLE, "description": SOMETHING });
    let list = json!({ "type": "array", "minItems": 1, "maxItems": MAX_TEXTS, "items": visible });
    let number = json!({ "type": "number", "minimum": 0 });
    let check = json!({
        "type": ["object", "null"],
        "properties": { "kind": {
            "type": "string", "pattern": format!("^({text}|{texts}|max_lix|(max|min)_({}))$", counted()),
            "description": kinds,
        } },
        "allOf": [when(text, visible), when(texts, list), when("(max|min)_.*", number)],
    });
    json!({
        "type": ["array", "null"],
        "maxItems": MOST_ITEMS,
        "description": "What the text has to meet: texts, or { id?, text?, check?: { kind, value } } where code can decide it",
        "items": { "type": ["string", "object"], "properties": { "check": check } },
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{right, wrong},
        *,
    };

    #[test]
    fn checks_that_no_program_can_make_are_found() {
        let criteria = acceptance_criteria();
        let check = |kind: &str, value: Value| json!([{"check": {"kind": kind, "value": value}}]);
        right(
            &criteria,
            &[
                json!(["at most 5 words", {"text": "It rhymes."}]),
                check("contains", json!("a")),
                check("contains_any", json!(["a"])),
                check("matches", json!("(?i)a|b")),
                check("not_matches", json!(r"(?m)^\p{Lu}+\b")),
                check("matches", json!(r"[[:alpha:]]+(?P<year>\d{4})")),
                check("max_characters", json!(280)),
                check("min_exclamation_marks", json!(1)),
                check("max_lix", json!(45.5)),
            ],
        );
        wrong(
            &criteria,
            &[
                (
                    check("contians", json!("a")),
                    "[0].check.kind is \"contians\", which is nothing that it takes (contains, not_contains",
                ),
                (
                    check("max_charcters", json!(1)),
                    "[0].check.kind is \"max_charcters\"",
                ),
                (check("not_matches", json!("")), "[0].check.value is \"\""),
                (check("contains_all", json!([])), "[0].check.value is empty"),
                (
                    check("contains", json!(5)),
                    "[0].check.value is 5; it takes a text",
                ),
                (
                    check("max_words", json!("five")),
                    "[0].check.value is \"five\"; it takes a number",
                ),
                (
                    json!([{"check": {"kind": "max_words"}}]),
                    "[0].check lacks `value`",
                ),
            ],
        );
    }
}
