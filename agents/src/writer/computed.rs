//! Answers without a model.

use agenthub_sdk::model::{Output, Request};
use serde_json::Value;

use super::{brief, draft};
use crate::offline::Answer;

const IN_WORDS: &str = "I write: briefs for posts, posts, and revisions of them. Give me a brief as data (`writerBrief`, and where you have them `platform`, \
    `language`, `mustInclude`, `platformRules`; for a revision also `previousDraft` and `revisionNotes`). I work without a language model here: I compose \
    a text of the brief's own sentences, so that it keeps to what can be measured, but I cannot write from a request in words.";

/// Fields that a draft is computed from. What others say, such as the audience or a tone, takes a model.
const READ: [&str; 8] = [
    "writerBrief",
    "language",
    "mustInclude",
    "platformRules",
    "brandRules",
    "knobs",
    "revisionNotes",
    "previousDraft",
];

/// The brief or the draft that is asked for.
pub(super) fn answer(request: &Request) -> Answer {
    let input = match (&request.output, request.data("input")) {
        (Output::Text, _) | (_, None) => return Answer::Unable(IN_WORDS),
        (_, Some(input)) => input,
    };
    if input["writerBrief"].is_null() {
        return Answer::Words(brief::computed(input).to_string());
    }
    let draft = draft::computed(input);
    let notes = draft["draft"]["metadata"]["notes"].as_array();
    match notes.is_some_and(|notes| !notes.is_empty()) || has_unread_fields(input) {
        true => Answer::Part(draft.to_string()),
        false => Answer::Words(draft.to_string()),
    }
}

/// True if the request says more than a draft is computed from.
fn has_unread_fields(input: &Value) -> bool {
    let mut fields = input.as_object().into_iter().flatten();
    fields.any(|(name, value)| !value.is_null() && !READ.contains(&&**name))
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::model::{PromptMessage, Request};
    use serde_json::json;

    use super::*;

    /// spec: ORC-2.3
    #[test]
    fn a_draft_of_a_request_that_says_more_than_is_read_is_done_in_part() {
        let is_whole = |more: Value| {
            let brief = "The ferry between both towns sails at nine in the morning and at five in the evening.";
            let mut input = json!({"writerBrief": brief, "language": "en"});
            let fields = input.as_object_mut().expect("an object");
            fields.extend(more.as_object().cloned().unwrap_or_default());
            let asked = Request::new(vec![PromptMessage::data("input", input)]);
            match answer(&asked.json("content_write", json!({}))) {
                Answer::Words(_) => true,
                Answer::Part(_) => false,
                _ => panic!("it is written"),
            }
        };
        assert!(is_whole(
            json!({"audience": null, "mustInclude": ["ferry"]})
        ));
        for more in [
            json!({"audience": "sailors"}),
            json!({"colour": "blue"}),
            json!({"clientProfile": {"tone": "ironic"}}),
            json!({"platformRules": {"colour": "blue"}}),
        ] {
            assert!(!is_whole(more.clone()), "{more}");
        }
    }
}
