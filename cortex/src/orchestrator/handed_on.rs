//! Parts of the payload that were handed on to somebody, that were not, and that were replaced.
//!
//! A part counts as handed on where a step's payload refers to it, or to something that it stands in, in a field that the agent's card names. What a model
//! copied out of the payload counts as well, if it is the same value. All else nobody has looked at.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_sdk::runs::plan::{Source, references};
use serde_json::{Map, Value};

use crate::chat::history::shorten;

/// Keys and indexes that lead to a part of the payload.
pub(super) type Path = Vec<String>;

/// The most parts that are named one by one.
const MAX_NAMED: usize = 20;

/// The parts of the payload that a step is handed by this payload of it, as far as the input of its capability names the fields.
pub(super) fn handed(
    used: &Value,
    input: Option<&Value>,
    payload: &Map<String, Value>,
) -> Vec<Path> {
    let named = input.map(|schema| &schema["properties"]);
    let fields = used.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| named.is_some_and(|n| n.get(name.as_str()).is_some()));
    let mut handed = BTreeSet::new();
    let mut copied = BTreeSet::new();
    for (name, value) in fields {
        let references = references(value).filter(|r| *r.source() == Source::Input);
        handed.extend(references.map(|reference| reference.path().to_vec()));
        leaves(value, &mut vec![name.clone()], &mut |path, leaf| {
            copied.insert(copy_of(path, leaf));
        });
    }
    if !copied.is_empty() {
        for (name, value) in payload {
            leaves(value, &mut vec![name.clone()], &mut |path, leaf| {
                if copied.contains(&copy_of(path, leaf)) {
                    handed.insert(path.to_vec());
                }
            });
        }
    }
    handed.into_iter().collect()
}

/// A value by which a copy of it is known: a text of some words by itself, all else with its name.
fn copy_of(path: &[String], leaf: &Value) -> String {
    match leaf.as_str().map(str::trim) {
        Some(text) if text.contains(char::is_whitespace) => text.to_owned(),
        _ => {
            let is_name = |part: &&String| part.parse::<usize>().is_err();
            let name = path.iter().rev().find(is_name);
            format!("{}: {leaf}", name.map_or("", String::as_str))
        }
    }
}

/// The parts of the payload that are in none of these, each by the outermost part that nothing of was handed on.
pub(super) fn not_handed(payload: &Map<String, Value>, handed: &BTreeSet<Path>) -> Vec<String> {
    if handed.contains(&Path::new()) {
        return Vec::new();
    }
    let mut open = Vec::new();
    for (name, value) in payload {
        match reach(value, &mut vec![name.clone()], handed) {
            Reach::Nothing | Reach::Handed => {}
            Reach::NotHanded => open.push(name.clone()),
            Reach::InPart(parts) => open.extend(parts),
        }
    }
    within(open)
}

/// The parts of the payload in whose place an output has another value under the same names, each with that value, as a strategy may set
/// `knobs.pace` to 0.2.
pub(super) fn replaced<'a>(
    payload: &Map<String, Value>,
    outputs: impl IntoIterator<Item = &'a Value>,
) -> Vec<String> {
    let mut found = BTreeMap::new();
    for output in outputs {
        compare(payload, output, LEVELS, &mut found);
    }
    let found = found.into_iter();
    within(
        found
            .map(|(part, value)| format!("{part} (by {value})"))
            .collect(),
    )
}

/// The most tokens of a value that stands in the place of another.
const MAX_VALUE_TOKENS: usize = 20;

/// Levels of an output at which the payload's names are looked for.
const LEVELS: usize = 3;

/// The writer's account of what it made; these are no settings.
const METADATA: &str = "metadata";

fn compare(
    payload: &Map<String, Value>,
    output: &Value,
    levels: usize,
    found: &mut BTreeMap<String, String>,
) {
    let Some(fields) = output.as_object().filter(|_| levels > 0) else {
        return;
    };
    for (name, value) in fields {
        match payload.get(name) {
            Some(given) => differing(given, value, &mut vec![name.clone()], found),
            None if name == METADATA => {}
            None => compare(payload, value, levels - 1, found),
        }
    }
}

fn differing(given: &Value, made: &Value, path: &mut Path, found: &mut BTreeMap<String, String>) {
    match (given, made) {
        (Value::Object(given), Value::Object(made)) => {
            for (name, given) in given {
                if let Some(made) = made.get(name) {
                    path.push(name.clone());
                    differing(given, made, path, found);
                    path.pop();
                }
            }
        }
        // A setting may be told with its definition.
        (Value::Number(_), Value::Object(made)) if made.contains_key("value") => {
            differing(given, &made["value"], path, found);
        }
        (Value::Object(given), Value::Number(_)) if given.contains_key("value") => {
            differing(&given["value"], made, path, found);
        }
        (Value::Null | Value::Array(_) | Value::Object(_), _) => {}
        (_, Value::Null | Value::Array(_) | Value::Object(_)) => {}
        (Value::Number(given), Value::Number(made)) if given.as_f64() == made.as_f64() => {}
        (Value::String(given), Value::String(made)) if given.trim() == made.trim() => {}
        (given, made) if given == made => {}
        (_, made) => {
            let made = shorten(&made.to_string(), MAX_VALUE_TOKENS);
            found.entry(told(path)).or_insert(made);
        }
    }
}

/// Extent to which a value was handed on.
enum Reach {
    /// It says nothing.
    Nothing,
    Handed,
    NotHanded,
    /// These parts of it were not.
    InPart(Vec<String>),
}

fn reach(value: &Value, path: &mut Path, handed: &BTreeSet<Path>) -> Reach {
    if !says_something(value) {
        return Reach::Nothing;
    }
    if handed.contains(path) {
        return Reach::Handed;
    }
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(n, v)| (n.to_string(), v))
            .collect(),
        _ => return Reach::NotHanded,
    };
    let (mut open, mut is_any_handed) = (Vec::new(), false);
    for (name, value) in inner {
        path.push(name);
        match reach(value, path, handed) {
            Reach::Nothing => {}
            Reach::Handed => is_any_handed = true,
            Reach::NotHanded => open.push(told(path)),
            Reach::InPart(parts) => {
                is_any_handed = true;
                open.extend(parts);
            }
        }
        path.pop();
    }
    match (is_any_handed, open.is_empty()) {
        (false, _) => Reach::NotHanded,
        (true, true) => Reach::Handed,
        (true, false) => Reach::InPart(open),
    }
}

/// True if there is a wish in it: not nothing, and not empty.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(says_something),
        Value::Object(fields) => fields.values().any(says_something),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Calls this with every leaf and its path. References are no leaves.
fn leaves(value: &Value, path: &mut Path, each: &mut impl FnMut(&[String], &Value)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push(name.clone());
                leaves(value, path, each);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                path.push(index.to_string());
                leaves(value, path, each);
                path.pop();
            }
        }
        Value::String(text) if text.contains("${") => {}
        leaf if says_something(leaf) => each(path, leaf),
        _ => {}
    }
}

/// A path as people write it: `posts[0].title`.
fn told(path: &[String]) -> String {
    let mut told = String::new();
    for part in path {
        match part.parse::<usize>() {
            Ok(index) if !told.is_empty() => told.push_str(&format!("[{index}]")),
            _ if told.is_empty() => told.push_str(part),
            _ => {
                told.push('.');
                told.push_str(part);
            }
        }
    }
    told
}

fn within(mut named: Vec<String>) -> Vec<String> {
    let more = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    fn open(payload: Value, used: Value) -> Vec<String> {
        let payload = map(payload);
        let input = json!({"properties": {"brief": {}, "size": {}, "notes": {}}});
        let handed = handed(&used, Some(&input), &payload);
        not_handed(&payload, &handed.into_iter().collect())
    }

    /// spec: ORC-2.3
    #[test]
    fn each_part_is_handed_on_or_named() {
        let payload = json!({
            "client": {"tone": "warm", "name": "Havn", "empty": ""},
            "size": 3,
            "notes": ["be brief", "be kind and fair"],
            "none": null,
            "nothing": {"a": [], "b": "  "},
        });
        let of = |used: Value| open(payload.clone(), used);
        assert_eq!(of(json!({})), ["client", "size", "notes"]);
        assert_eq!(of(json!({"brief": "${input}"})), [""; 0]);
        assert_eq!(
            of(json!({"brief": {"a": "by ${input.client.name}"}, "size": "${input.size}"})),
            ["client.tone", "notes"]
        );
        assert_eq!(
            of(json!({"brief": "${input.client}", "notes": "${input.notes.1}"})),
            ["size", "notes[0]"]
        );
        // What a model copied, under the same name or in the same words.
        assert_eq!(
            of(json!({"brief": "be kind and fair", "size": 3, "notes": {"tone": "warm"}})),
            ["client.name", "notes[0]"]
        );
        assert_eq!(of(json!({"brief": 3}))[1], "size");
        // A field that the agent's card does not name.
        assert_eq!(of(json!({"other": "${input}"})).len(), 3);
    }

    #[test]
    fn nothing_is_known_of_an_agent_without_a_schema() {
        let payload = map(json!({"a": 1}));
        assert!(handed(&json!({"a": "${input.a}"}), None, &payload).is_empty());
    }

    #[test]
    fn what_is_not_handed_on_is_bounded() {
        let payload: Map<String, Value> = (0..50).map(|n| (format!("k{n}"), json!(n))).collect();
        let named = not_handed(&payload, &BTreeSet::new());
        assert_eq!(named.len(), MAX_NAMED + 1);
        assert_eq!(named.last().map(String::as_str), Some("30 more"));
    }

    /// spec: ORC-2.3
    #[test]
    fn other_values_under_the_same_names_are_replaced() {
        let payload = map(json!({
            "knobs": {"pace": {"value": 0.8, "measure": "m"}, "warmth": 0.5, "calm": 1},
            "language": "en",
            "draft": {"text": "as it was", "title": "T"},
        }));
        let of = |output: Value| replaced(&payload, [&output]);
        let kept = json!({"strategy": {"knobs": {"pace": {"value": 0.8}, "warmth": {"value": 0.5}, "calm": 1.0}}});
        assert_eq!(of(kept), [""; 0]);
        let other = json!({"strategy": {"knobs": {"pace": {"value": 0.1}, "warmth": {"value": 0.4}}, "language": "de"}});
        assert_eq!(
            of(other),
            [
                "knobs.pace.value (by 0.1)",
                "knobs.warmth (by 0.4)",
                "language (by \"de\")"
            ]
        );
        assert_eq!(
            of(json!({"draft": {"text": "another", "metadata": {"knobs": {"warmth": 0}}}})),
            ["draft.text (by \"another\")"]
        );
        let told = json!({"x": {"metadata": {"knobs": {"warmth": 0}}}});
        assert_eq!(of(told), [""; 0]);
    }
}
