//! Schemas of the fields that several skills take. What is wrong with a brief is found by these before a run of it begins, so they say all
//! that code would not take.

use serde_json::{Map, Value, json};

use crate::text::{measured::Measured, measures::MEASURES};

/// Items of each list, and entries of each object.
pub(crate) const MOST_ITEMS: usize = 200;

/// Texts in the value of a check.
pub(crate) const MAX_TEXTS: usize = 100;

/// The most posts of a schedule.
pub(crate) const MAX_POSTS: u64 = 52;

/// The lists of what a brand does not want said.
pub(crate) const FORBIDDEN: [&str; 5] = [
    "forbidden",
    "forbiddenWords",
    "forbiddenClaims",
    "superlatives",
    "guarantees",
];

/// A number from 0 on, and one from 0 to 1, that stands in a text.
const NUMBER_IN_TEXT: &str = r"^\s*[0-9]*\.?[0-9]+\s*$";
const SHARE_IN_TEXT: &str = r"^\s*(0*\.[0-9]+|0+|0*1(\.0*)?)\s*$";
/// Something that can be seen.
const VISIBLE: &str = r"\S";
const SOMETHING: &str = "a text with something to be seen";

/// A number from 0 to 1.
pub(crate) fn share(description: &str) -> Value {
    json!({
        "type": ["number", "string", "null"], "minimum": 0, "maximum": 1, "pattern": SHARE_IN_TEXT,
        "description": format!("From 0 to 1. {description}"),
    })
}

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

/// The times at which something is to be published.
pub(crate) fn schedule() -> Value {
    let date = json!({ "type": ["string", "null"], "format": "date" });
    let days = json!({ "type": ["integer", "null"], "minimum": 1 });
    let posts = json!({ "type": ["integer", "null"], "minimum": 1, "maximum": MAX_POSTS });
    json!({
        "type": ["object", "null"],
        "description": "start and end (YYYY-MM-DD), posts, everyDays",
        "properties": { "start": date, "end": date, "posts": posts, "everyDays": days },
        "additionalProperties": false,
        "x-ascending": ["start", "end"],
    })
}

/// Past posts. What is missing or wrong among their numbers is left out, and counted.
pub(crate) fn prior_performance() -> Value {
    let object =
        |description: &str| json!({ "type": ["object", "null"], "description": description });
    let post = json!({ "type": "object", "properties": {
        "knobs": object("Setting by knob; null where it is not known"),
        "metrics": object("Result by metric; null where it is not known"),
    } });
    json!({
        "type": ["array", "null"], "items": post,
        "description": "Past posts: { knobs: { NAME: number }, metrics: { NAME: number } }",
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

/// Limits of the place where something is to appear.
pub(crate) fn platform_rules() -> Value {
    let names = counted();
    let limit = json!({
        "type": ["integer", "string", "null"], "minimum": 0, "pattern": r"^\s*[0-9]+\s*$",
        "description": "a whole number from 0 on",
    });
    let allowed = json!({
        "type": ["boolean", "string", "null"], "pattern": r"^\s*([Tt]rue|[Ff]alse|[Yy]es|[Nn]o)\s*$",
        "description": "true or false",
    });
    let rules = [
        (format!("^(max|min)_?({names})$"), limit),
        (format!("^allow_?({names})$"), allowed),
    ];
    json!({
        "type": ["object", "null"],
        "maxProperties": MOST_ITEMS,
        "description": "Limits of the platform, such as maxCharacters, maxHashtags, allowEmoji",
        "patternProperties": Map::from_iter(rules),
    })
}

/// Limits of what a brand says.
pub(crate) fn brand_rules() -> Value {
    let texts = json!({ "type": ["array", "string", "null"], "items": { "type": "string" }, "description": "a list of texts" });
    let lists = FORBIDDEN.map(|list| (list.to_owned(), texts.clone()));
    json!({
        "type": ["object", "null"],
        "maxProperties": MOST_ITEMS,
        "description": "What the brand wants and does not want said, such as forbidden: [texts]",
        "properties": Map::from_iter(lists),
    })
}

/// Limit of LIX, the measure of how hard a text is to read.
pub(crate) fn readability(description: &str) -> Value {
    json!({
        "type": ["object", "null"],
        "properties": { "maxLix": {
            "type": ["number", "string", "null"], "minimum": 0, "pattern": NUMBER_IN_TEXT,
            "description": "a number from 0 on",
        } },
        "additionalProperties": false,
        "description": description,
    })
}

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

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::schema::misfits;

    use super::*;

    fn fault(schema: Value, value: Value) -> Option<String> {
        let misfit = misfits(&schema, &value).into_iter().next()?;
        Some(format!("{} {}", misfit.path, misfit.why))
    }

    /// Each is wrong, and the words for it.
    fn wrong(schema: &Value, cases: &[(Value, &str)]) {
        for (value, part) in cases {
            let fault = fault(schema.clone(), value.clone());
            let fault = fault.unwrap_or_else(|| panic!("{value} is taken"));
            assert!(fault.contains(part), "{value}: {fault}");
        }
    }

    fn right(schema: &Value, values: &[Value]) {
        for value in values {
            assert_eq!(fault(schema.clone(), value.clone()), None, "{value}");
        }
    }

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

    #[test]
    fn schedules_that_make_no_sense_are_found() {
        let schedule = schedule();
        right(
            &schedule,
            &[
                json!({"start": "2027-05-03", "end": "2027-05-03", "posts": 3, "everyDays": 2}),
                json!({"start": null}),
            ],
        );
        wrong(
            &schedule,
            &[
                (
                    json!({"start": "2027-05-11", "end": "2027-05-03"}),
                    "has `start` 2027-05-11 after `end` 2027-05-03",
                ),
                (
                    json!({"start": "2027-02-30"}),
                    "start is \"2027-02-30\", which is no date",
                ),
                (json!({"start": "next week"}), "no date"),
                (json!({"posts": -3}), "posts is -3; it is at least 1"),
                (
                    json!({"posts": 2.5}),
                    "posts is 2.5; it takes a whole number",
                ),
                (json!({"posts": 99}), "posts is 99; it is at most 52"),
                (json!({"everyDay": 2}), "everyDay is no field of it"),
            ],
        );
    }

    #[test]
    fn rules_of_the_wrong_type_are_found() {
        let rules = platform_rules();
        right(
            &rules,
            &[json!({
                "maxCharacters": 280, "max_hashtags": "3", "minLinks": 1.0, "allowEmoji": false, "allowLinks": "no", "tone": [1],
                "max_exclamation_marks": 1, "maxWords": null,
            })],
        );
        wrong(
            &rules,
            &[
                (
                    json!({"maxCharacters": "many"}),
                    "maxCharacters is \"many\", which is nothing that it takes (a whole number from 0 on)",
                ),
                (json!({"minWords": -1}), "minWords is -1; it is at least 0"),
                (json!({"allow_emoji": 3}), "allow_emoji is 3; it takes"),
                (
                    json!({"maxExclamationMarks": 1.5}),
                    "maxExclamationMarks is 1.5",
                ),
            ],
        );
        right(
            &brand_rules(),
            &[json!({"forbidden": ["a"], "superlatives": "best", "voice": {}})],
        );
        wrong(
            &brand_rules(),
            &[(
                json!({"forbidden": [5]}),
                "forbidden[0] is 5; it takes a text: put it into quotation marks",
            )],
        );
        right(
            &readability("r"),
            &[
                json!({"maxLix": 45}),
                json!({"maxLix": "45.5"}),
                json!({"maxLix": null}),
            ],
        );
        wrong(
            &readability("r"),
            &[
                (
                    json!({"maxLIX": 45}),
                    "maxLIX is no field of it: it takes `maxLix`",
                ),
                (json!({"maxLix": "easy"}), "maxLix is \"easy\""),
            ],
        );
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
        wrong(
            &must_include(),
            &[
                (json!(["a", 1]), "[1] is 1; it takes a text"),
                (json!([" "]), "[0] is"),
            ],
        );
        wrong(
            &prior_performance(),
            &[
                (json!([1]), "[0] is 1; it takes an object"),
                (json!([{"metrics": 5}]), "[0].metrics"),
            ],
        );
        right(
            &prior_performance(),
            &[json!([{"id": "p", "knobs": {"a": 7.5}, "metrics": {"likes": null}}])],
        );
    }

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
