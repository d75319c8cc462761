//! Schemas of the fields that several skills take. What is wrong with a brief is found by these before a run of it begins, so they say all
//! that code would not take.

mod criteria;
mod knobs;
mod plans;
mod rules;

use serde_json::{Value, json};

pub(crate) use self::{
    criteria::{MAX_TEXTS, acceptance_criteria},
    knobs::knobs,
    plans::{MAX_POSTS, prior_performance, schedule},
    rules::{FORBIDDEN, brand_rules, platform_rules, readability},
};
use crate::text::measured::Measured;

/// Items of each list, and entries of each object.
pub(crate) const MOST_ITEMS: usize = 200;

/// A number from 0 to 1 that stands in a text.
const SHARE_IN_TEXT: &str = r"^\s*(0*\.[0-9]+|0+|0*1(\.0*)?)\s*$";

/// Something that can be seen.
const VISIBLE: &str = r"\S";
const SOMETHING: &str = "a text with something to be seen";

/// True if a value is more than nothing: no null, no blank text, no empty list or object.
pub(crate) fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

/// A number from 0 to 1.
pub(crate) fn share(description: &str) -> Value {
    json!({
        "type": ["number", "string", "null"], "minimum": 0, "maximum": 1, "pattern": SHARE_IN_TEXT,
        "description": format!("From 0 to 1. {description}"),
    })
}

/// Texts that have to be said.
pub(crate) fn must_include() -> Value {
    json!({
        "type": ["array", "null"],
        "items": { "type": "string", "pattern": VISIBLE, "description": SOMETHING },
        "maxItems": MOST_ITEMS,
        "description": "What the text has to say word for word",
    })
}

/// Pattern of the names of what is counted in a text: `Characters`, `exclamation_marks`.
fn counted() -> String {
    let initial = |word: &str| {
        let (first, rest) = word.split_at(1);
        format!("[{}{first}]{rest}", first.to_uppercase())
    };
    let name = |measured: &Measured| {
        let words: Vec<String> = measured.plural().split(' ').map(initial).collect();
        words.join("_?")
    };
    let names: Vec<String> = Measured::ALL.iter().map(name).collect();
    names.join("|")
}

/// Fields of a draft beside its text, and those of its metadata that are not its writer's own account of knobs and notes: nobody reads them.
/// Each by its path in the draft.
pub(crate) fn beside_text(draft: &Value) -> Vec<String> {
    let told = |place: &str, fields: &Value, own: &[&str]| -> Vec<String> {
        let fields = fields.as_object().into_iter().flatten();
        let others =
            fields.filter(|(name, value)| says_something(value) && !own.contains(&&***name));
        others.map(|(name, _)| format!("{place}{name}")).collect()
    };
    let mut named = told("", draft, &["text", "metadata"]);
    named.extend(told("metadata.", &draft["metadata"], &["knobs", "notes"]));
    named
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::schema::misfits;

    use super::*;

    fn fault(schema: Value, value: Value) -> Option<String> {
        let misfit = misfits(&schema, &value).into_iter().next()?;
        Some(format!("{} {}", misfit.path, misfit.why))
    }

    /// Each is wrong, and the words for it.
    pub(super) fn wrong(schema: &Value, cases: &[(Value, &str)]) {
        for (value, part) in cases {
            let fault = fault(schema.clone(), value.clone());
            let fault = fault.unwrap_or_else(|| panic!("{value} is taken"));
            assert!(fault.contains(part), "{value}: {fault}");
        }
    }

    pub(super) fn right(schema: &Value, values: &[Value]) {
        for value in values {
            assert_eq!(fault(schema.clone(), value.clone()), None, "{value}");
        }
    }

    #[test]
    fn shares_are_from_0_to_1() {
        right(
            &share("s"),
            &[
                json!(0.3),
                json!("0.25"),
                json!("1"),
                json!(".5"),
                json!(null),
            ],
        );
        wrong(
            &share("s"),
            &[
                (json!("tiny"), "is \"tiny\""),
                (json!("1.5"), "is \"1.5\""),
                (json!(2), "at most 1"),
            ],
        );
    }

    #[test]
    fn texts_that_have_to_be_said_can_be_seen() {
        wrong(
            &must_include(),
            &[
                (json!(["a", 1]), "[1] is 1; it takes a text"),
                (json!([" "]), "[0] is"),
            ],
        );
    }
}
