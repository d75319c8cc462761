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
    let input = match (&request.output, request.data("input")) {
        (Output::Text, _) | (_, None) => return Answer::Unable(IN_WORDS),
        (_, Some(input)) => input,
    };
    if input["writerBrief"].is_null() {
        return Answer::Computed(brief::computed(input).to_string(), Vec::new());
    }
    let draft = draft::computed(input);
    let notes = draft["draft"]["metadata"]["notes"].as_array();
    let notes = notes.into_iter().flatten().filter_map(Value::as_str);
    let notes: Vec<String> = notes.map(str::to_owned).collect();
    Answer::Computed(draft.to_string(), notes)
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::model::{PromptMessage, Request};
    use serde_json::json;

    use super::*;

    /// spec: ORC-2.3
    #[test]
    fn a_draft_of_a_request_that_says_more_than_is_read_names_what_it_leaves_open() {
        let names_nothing = |more: Value| {
            let brief = "The ferry between both towns sails at nine in the morning and at five in the evening.";
            let mut input = json!({"writerBrief": brief, "language": "en"});
            let fields = input.as_object_mut().expect("an object");
            fields.extend(more.as_object().cloned().unwrap_or_default());
            let asked = Request::new(vec![PromptMessage::data("input", input)]);
            match answer(&asked.json("content_write", json!({}))) {
                Answer::Computed(_, notes) => notes.is_empty(),
                _ => panic!("it is written"),
            }
        };
        for all in [
            json!({"audience": null, "mustInclude": ["ferry"]}),
            json!({"writerBrief": {"brief": {"description": "The ferry between both towns sails at nine in the morning and at five in the evening.", "facts": ["It sails."], "objective": "o"}}}),
            json!({"knobs": {"pace": {"value": 0.5, "measure": "sentence_length"}, "calm": null, "warm": {}}}),
            json!({"previousDraft": {"text": "The ferry between both towns sails at nine in the morning and at five in the evening.", "metadata": {"knobs": {}}}}),
        ] {
            assert!(names_nothing(all.clone()), "{all}");
        }
        for more in [
            json!({"audience": "sailors"}),
            json!({"colour": "blue"}),
            json!({"clientProfile": {"tone": "ironic"}}),
            json!({"platformRules": {"colour": "blue"}}),
            json!({"platformRules": {"maxCharacters": "many"}}),
            json!({"writerBrief": {"description": "The ferry sails.", "avoid": ["sail"]}}),
            json!({"writerBrief": {"description": {"about": "The ferry sails."}}}),
            json!({"writerBrief": {"description": "The ferry sails.", "clientBrief": "It is fast."}}),
            json!({"writerBrief": {"description": "The ferry sails.", "constraints": {"maxCharacters": 20}}}),
            json!({"previousDraft": {"text": "The ferry sails.", "title": "Ferry"}}),
            json!({"previousDraft": {"text": "The ferry sails.", "metadata": {"author": "Ann"}}}),
            json!({"previousDraft": "The harbour is shut."}),
            json!({"knobs": {"warmth": 0.9}}),
            json!({"brandRules": {"voice": "calm"}}),
        ] {
            assert!(!names_nothing(more.clone()), "{more}");
        }
    }
}
