//! Prompt about a run. What the agents and their files say is quoted data in it, never an instruction.

use agenthub_sdk::model::{PromptMessage, Request};
use serde_json::{Value, json};

use super::{Procedure, Transcript, shortened::shortened};
use crate::Rule;

const PROMPT: &str = include_str!("../../prompts/compliance.md");

/// Text by which the model is told of an answer that cannot be used.
const AGAIN: &str = "Your answer could not be used; the `rejected` block says why. Give the whole answer again, mended.";

/// The question whether these rules were kept.
pub(super) fn request(procedure: &Procedure, transcript: &Transcript, rules: &[&Rule]) -> Request {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({ "id": rule.id, "level": rule.level, "section": rule.section, "text": rule.text })
        })
        .collect();
    let messages = vec![
        PromptMessage::system(PROMPT.trim()),
        PromptMessage::data(
            "procedure",
            json!({ "agent": procedure.name, "version": procedure.version, "run": transcript.state }),
        ),
        PromptMessage::data("rules", json!(rules)),
        PromptMessage::data("transcript", json!(shortened(transcript))),
    ];
    Request {
        temperature: Some(0.0),
        ..Request::new(messages).json("compliance", schema())
    }
}

/// The same question once more, with what was wrong with the answer.
pub(super) fn again(mut request: Request, answer: &str, why: &str) -> Request {
    if !answer.trim().is_empty() {
        request.messages.push(PromptMessage::assistant(answer));
    }
    request
        .messages
        .push(PromptMessage::data("rejected", json!({ "reason": why })));
    request.messages.push(PromptMessage::system(AGAIN));
    request
}

/// The JSON Schema of an answer.
fn schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "properties": { "verdicts": { "type": "array", "items": {
            "type": "object",
            "properties": {
                "id": text("The rule's id"),
                "verdict": { "type": "string", "enum": ["kept", "broken", "not-applicable", "unclear"] },
                "passage": { "type": "integer", "description": "The number of the passage that is quoted" },
                "quotation": text("Characters of that passage, word for word, that the verdict rests on"),
                "reason": text("One sentence: why"),
            },
            "required": ["id", "verdict", "passage", "quotation", "reason"],
            "additionalProperties": false,
        } } },
        "required": ["verdicts"],
        "additionalProperties": false,
    })
}
