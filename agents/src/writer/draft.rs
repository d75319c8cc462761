//! The draft: what a model is asked for, and how one is made without a model.

use agenthub_sdk::Form;
use serde_json::{Map, Value, json};

use super::{
    composing::compose,
    material::{Material, unwrapped},
    wishes::Wishes,
};
use crate::qa::Measuring;

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

    fn accept(&self, _: &Value, answer: Value) -> Result<Value, String> {
        let text = answer["draft"]["text"].as_str().unwrap_or_default();
        match text.trim().is_empty() {
            true => Err("the draft is empty: the brief gives nothing that can be said".to_owned()),
            false => Ok(answer),
        }
    }

    fn told(&self, output: &Value) -> String {
        let text = output["draft"]["text"].as_str();
        text.unwrap_or_default().to_owned()
    }

    fn growing(&self) -> Option<&str> {
        Some("/draft/text")
    }
}

/// A draft without a model.
pub(super) fn computed(input: &Value) -> Value {
    let wishes = Wishes::read(input);
    let previous = &input["previousDraft"];
    let previous = previous.as_str().or_else(|| previous["text"].as_str());
    let material = Material::read(unwrapped(&input["writerBrief"]));
    let composed = compose(&material, previous, &wishes);
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
