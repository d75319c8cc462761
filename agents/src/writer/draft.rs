//! The draft: what a model is asked for, and how one is made without a model.

use agenthub_sdk::Form;
use serde_json::{Map, Value, json};

use super::{
    composing::compose,
    material::{Material, unwrapped},
    unread,
    wishes::Wishes,
};
use crate::{fields::beside_text, qa::Measuring};

/// `{ draft: { text, metadata } }`.
#[derive(Debug)]
pub(super) struct Draft;

/// Answer of the model, and output of the skill.
pub(super) fn answer() -> Value {
    json!({
        "type": "object",
        "required": ["draft"],
        "properties": {"draft": {
            "type": "object",
            "required": ["text"],
            "properties": {
                "text": {"type": "string", "description": "The text, ready to be published"},
                "metadata": {
                    "type": "object",
                    "properties": {
                        "knobs": {
                            "type": "object",
                            "description": "The setting that each knob has in the text, as the writer sees it",
                            "additionalProperties": {"type": "number"},
                        },
                        "notes": {"type": "array", "items": {"type": "string"}, "description": "What could not be met, and why"},
                    },
                },
            },
        }},
    })
}

impl Form for Draft {
    fn schema(&self) -> Value {
        answer()
    }

    /// Accepts a draft that says something. What it drops of the draft before is noted in it, whether or not the model says so.
    fn accept(&self, input: &Value, mut answer: Value) -> Result<Value, String> {
        let draft = &mut answer["draft"];
        let text = draft["text"].as_str().unwrap_or_default();
        if text.trim().is_empty() {
            return Err("the draft is empty: the brief gives nothing that can be said".to_owned());
        }
        if let Some(note) = dropped(&input["previousDraft"], draft) {
            let notes = &mut draft["metadata"]["notes"];
            match notes.as_array_mut() {
                Some(notes) => notes.push(note.into()),
                None => *notes = json!([note]),
            }
        }
        Ok(answer)
    }

    fn told(&self, output: &Value) -> String {
        let text = output["draft"]["text"].as_str();
        text.unwrap_or_default().to_owned()
    }

    fn growing(&self) -> Option<&str> {
        Some("/draft/text")
    }
}

/// The fields of a draft before that the one after it does not have, though they are not its text; those apart that are told of already.
fn dropped(previous: &Value, draft: &Value) -> Option<String> {
    let told = draft["metadata"]["notes"].to_string();
    let kept = beside_text(draft);
    let dropped = beside_text(previous).into_iter();
    let dropped: Vec<String> = dropped
        .filter(|name| !kept.contains(name))
        .map(|name| format!("previousDraft.{name}"))
        .filter(|name| !told.contains(name))
        .collect();
    (!dropped.is_empty()).then(|| format!("not in the draft: {}", dropped.join(", ")))
}

/// The hashtags and emoji of the brief that a text does not have.
fn unsaid_marks(material: &Material, text: &str) -> Option<String> {
    let tags = material.all_hashtags(false).into_iter();
    let has = |tag: &String| text.split_whitespace().any(|word| word == tag);
    let emoji = material.emoji.iter().filter(|emoji| !text.contains(*emoji));
    let unsaid = tags.filter(|tag| !has(tag)).chain(emoji.cloned());
    let unsaid: Vec<String> = unsaid.collect();
    (!unsaid.is_empty()).then(|| format!("left out: {}", unsaid.join(", ")))
}

/// A draft without a model.
pub(super) fn computed(input: &Value) -> Value {
    let wishes = Wishes::read(input);
    let previous = &input["previousDraft"];
    let previous = previous.as_str().or_else(|| previous["text"].as_str());
    let material = Material::read(unwrapped(&input["writerBrief"]));
    let mut composed = compose(&material, previous, &wishes);
    composed
        .notes
        .extend(unsaid_marks(&material, &composed.text));
    let unread = unread::parts(input);
    if !unread.is_empty() {
        let unread = unread.join(", ");
        let note = format!("not acted on without a language model: {unread}");
        composed.notes.push(note);
    }
    let settings = Measuring::new(&composed.text).settings(&wishes.knobs);
    let knobs: Map<String, Value> = settings
        .into_iter()
        .map(|setting| (setting.name, json!((setting.told * 1e3).round() / 1e3)))
        .collect();
    let mut metadata = json!({ "notes": composed.notes });
    if !knobs.is_empty() {
        metadata["knobs"] = knobs.into();
    }
    json!({ "draft": { "text": composed.text, "metadata": metadata } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model that revises a draft gives its text alone.
    ///
    /// spec: ORC-2.3
    #[test]
    fn what_a_revision_drops_of_the_draft_before_is_noted() {
        let input = |previous: Value| json!({"writerBrief": "b", "previousDraft": previous});
        let notes = |previous: Value, draft: Value| {
            let answer = Draft.accept(&input(previous), json!({"draft": draft}));
            answer.expect("it fits")["draft"]["metadata"]["notes"].clone()
        };
        let titled =
            || json!({"text": "t", "title": "T", "image": null, "metadata": {"knobs": {}}});
        let dropped = json!(["not in the draft: previousDraft.title"]);
        assert_eq!(notes(titled(), json!({"text": "new"})), dropped);
        let by_ann = || json!({"text": "t", "metadata": {"author": "Ann", "notes": ["n"]}});
        let dropped_author = json!(["not in the draft: previousDraft.metadata.author"]);
        assert_eq!(notes(by_ann(), json!({"text": "new"})), dropped_author);
        let kept_author = json!({"text": "new", "metadata": {"author": "Ann"}});
        assert_eq!(notes(by_ann(), kept_author), Value::Null);
        let noted = json!({"text": "new", "metadata": {"notes": ["too long"]}});
        let expected = json!(["too long", "not in the draft: previousDraft.title"]);
        assert_eq!(notes(titled(), noted), expected);
        let told = json!({"text": "new", "metadata": {"notes": ["no previousDraft.title"]}});
        assert_eq!(notes(titled(), told), json!(["no previousDraft.title"]));
        let kept = json!({"text": "new", "title": "T"});
        assert_eq!(notes(titled(), kept), Value::Null);
        assert_eq!(notes(json!("t"), json!({"text": "new"})), Value::Null);
    }
}
