//! Answers without a model.

use agenthub_sdk::model::{Output, Request};
use serde_json::Value;

use super::{brief, draft};
use crate::offline::Answer;

const IN_WORDS: &str = "I write: briefs for posts, posts, and revisions of them. Give me a brief as data (`writerBrief`, and where you have them `platform`, \
    `language`, `mustInclude`, `platformRules`; for a revision also `previousDraft` and `revisionNotes`). I work without a language model here: I compose \
    a text of the brief's own sentences, so that it keeps to what can be measured, but I cannot write from a request in words.";

/// The brief or the draft that is asked for.
pub(super) fn answer(request: &Request) -> Answer {
    let compute: fn(&Value) -> Value = match (&request.output, request.data("input")) {
        (Output::Text, _) | (_, None) => return Answer::Unable(IN_WORDS),
        (_, Some(input)) if input["writerBrief"].is_null() => brief::computed,
        (_, Some(_)) => draft::computed,
    };
    let input = request.data("input").cloned().unwrap_or_default();
    Answer::Words(compute(&input).to_string())
}
