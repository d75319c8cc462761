//! Parts of a request that a draft without a model is not composed of.

use serde_json::Value;

use super::material::{Material, is_read, unwrapped};
use crate::{
    fields::{FORBIDDEN, beside_text, says_something},
    qa::Knobs,
};

/// Fields of the request that are read as a whole, or as far as the wishes tell (`wishes.rs`).
const READ: [&str; 4] = ["language", "mustInclude", "platformRules", "revisionNotes"];

/// Fields of a brief that are read as those of the request are.
const OF_A_BRIEF: [&str; 3] = ["language", "mustInclude", "platformRules"];

/// The field of a brief with what it is to reach. No text is made of it, whoever writes.
const OBJECTIVE: &str = "objective";

/// The names of the parts that nothing is made of.
pub(super) fn parts(input: &Value) -> Vec<String> {
    let mut unread = Vec::new();
    for (name, value) in input.as_object().into_iter().flatten() {
        match &**name {
            _ if !says_something(value) || READ.contains(&&**name) => {}
            "writerBrief" => unread.extend(of_brief(input, unwrapped(value))),
            "previousDraft" => {
                unread.extend(of_draft(value));
                if is_brief_left(input, value) {
                    unread.push("writerBrief".to_owned());
                }
            }
            "knobs" => unread.extend(unmeasured("", value)),
            "brandRules" => unread.extend(unknown_rules("", value)),
            _ => unread.push(name.clone()),
        }
    }
    unread
}

/// Of the fields of a brief. What the request says as well is named once.
fn of_brief(input: &Value, brief: &Value) -> Vec<String> {
    const PLACE: &str = "writerBrief.";
    let is_said_elsewhere = |name: &str, value: &Value| {
        [input, &input["clientProfile"]]
            .iter()
            .any(|holder| holder[name] == *value)
    };
    let mut unread = Vec::new();
    for (name, value) in brief.as_object().into_iter().flatten() {
        match &**name {
            _ if !says_something(value) || is_said_elsewhere(name, value) => {}
            name if OF_A_BRIEF.contains(&name) || is_read(brief, name) => {}
            OBJECTIVE => {}
            // The request's own come in their place.
            "knobs" if !input["knobs"].is_null() => {}
            "knobs" => unread.extend(unmeasured(PLACE, value)),
            "brandRules" => unread.extend(unknown_rules(PLACE, value)),
            name => unread.push(format!("{PLACE}{name}")),
        }
    }
    unread
}

/// Of a draft that is revised, all but its text. What its writer says of its knobs and in its notes is no wish.
fn of_draft(draft: &Value) -> Vec<String> {
    match draft {
        Value::String(_) => Vec::new(),
        Value::Object(fields) if fields.get("text").is_some_and(Value::is_string) => {
            let named = beside_text(draft).into_iter();
            named.map(|name| format!("previousDraft.{name}")).collect()
        }
        _ => vec!["previousDraft".to_owned()],
    }
}

/// True if a draft stays as it was, as no notes say what to change, and lacks something of the brief.
fn is_brief_left(input: &Value, draft: &Value) -> bool {
    let text = draft.as_str().or_else(|| draft["text"].as_str());
    let text = text.unwrap_or_default();
    let material = Material::read(&input["writerBrief"]);
    let mut sentences = material.sentences.iter();
    !says_something(&input["revisionNotes"])
        && sentences.any(|(_, sentence)| !text.contains(sentence.as_str()))
}

/// The knobs that are set and that no measure tells.
fn unmeasured(place: &str, knobs: &Value) -> Vec<String> {
    let Some(knobs) = knobs.as_object() else {
        return vec![format!("{place}knobs")];
    };
    let unmeasured = Knobs::read(knobs).unmeasured();
    let named = unmeasured.into_iter();
    named.map(|name| format!("{place}knobs.{name}")).collect()
}

/// The rules of a brand that are no lists of forbidden texts.
fn unknown_rules(place: &str, rules: &Value) -> Vec<String> {
    let rules = rules.as_object().into_iter().flatten();
    let unknown =
        rules.filter(|(name, value)| says_something(value) && !FORBIDDEN.contains(&&***name));
    unknown
        .map(|(name, _)| format!("{place}brandRules.{name}"))
        .collect()
}
