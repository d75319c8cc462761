//! Request to the model.

use agenthub_proto::{
    a2a::{self, part},
    json,
};
use serde_json::{Value, json};

use crate::{
    model::{PromptMessage, PromptPart, PromptRole},
    takes::RequestData,
};

/// The label of the data that came with the request.
const INPUT: &str = "input";

/// The label of the inputs that there are and that the request has not.
const NOT_GIVEN: &str = "inputs_not_given";

/// The message as a turn of the user: its texts as words, everything else as data. Nothing where it has no content.
pub(super) fn of(message: &a2a::Message) -> Option<PromptMessage> {
    let mut parts: Vec<PromptPart> = message.content.iter().filter_map(part_of).collect();
    if parts.is_empty() {
        return None;
    }
    let skill = message.task_type();
    if !skill.is_empty() {
        parts.push(data("asked_for", json!({ "skill": skill })));
    }
    Some(PromptMessage::new(PromptRole::User, parts))
}

/// Puts the data that the agent takes in place of the first data of the request, and says what it takes and did not get.
pub(super) fn give(asked: &mut PromptMessage, given: RequestData) {
    let is_input =
        |part: &PromptPart| matches!(part, PromptPart::Data { label, .. } if label == INPUT);
    let is_text = |part: &PromptPart| matches!(part, PromptPart::Text(_));
    let after_texts = asked.parts.iter().rposition(is_text).map_or(0, |at| at + 1);
    if let Some(input) = given.input {
        let input = data(INPUT, input);
        match asked.parts.iter().position(is_input) {
            Some(at) => asked.parts[at] = input,
            None => asked.parts.insert(after_texts, input),
        }
    }
    let lacking = given.lacking.map(|lacking| data(NOT_GIVEN, lacking));
    asked.parts.extend(lacking);
}

/// Changes how the first data of the request is shown.
pub(super) fn show(asked: &mut PromptMessage, shown: impl FnOnce(Value) -> Value) {
    let mut parts = asked.parts.iter_mut();
    let input = parts.find_map(|part| match part {
        PromptPart::Data { label, value } if label == INPUT => Some(value),
        _ => None,
    });
    if let Some(input) = input {
        *input = shown(input.take());
    }
}

fn part_of(part: &a2a::Part) -> Option<PromptPart> {
    match part.part.as_ref()? {
        part::Part::Text(text) if text.trim().is_empty() => None,
        part::Part::Text(text) => Some(PromptPart::Text(text.clone())),
        part::Part::Data(given) => {
            let value = given.data.as_ref().map(json::from_struct)?;
            Some(data(INPUT, value))
        }
        part::Part::File(file) => Some(data("file", file.described())),
    }
}

fn data(label: &str, value: Value) -> PromptPart {
    PromptPart::Data {
        label: label.to_owned(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: AGT-14.1, AGT-14.2
    #[test]
    fn texts_are_words_and_the_rest_is_data() {
        let mut message = a2a::Message::new(a2a::Role::User, "add these");
        message.content.push(a2a::Part::data(&json!({"n": [1, 2]})));
        message.content.push(a2a::Part::text("and tell me"));
        let asked = of(&message.with_metadata("task_type", "sum")).expect("it says something");
        assert_eq!(asked.role, PromptRole::User);
        assert_eq!(asked.text().as_deref(), Some("add these\nand tell me"));
        let rest: Vec<&PromptPart> = asked
            .parts
            .iter()
            .filter(|p| matches!(p, PromptPart::Data { .. }))
            .collect();
        assert_eq!(
            rest,
            [
                &data("input", json!({"n": [1, 2]})),
                &data("asked_for", json!({"skill": "sum"}))
            ]
        );
    }

    /// spec: SOP-5.7
    #[test]
    fn a_task_is_followed_by_its_inputs_and_by_what_is_lacking() {
        let mut message = a2a::Message::new(a2a::Role::User, "write");
        let given = || RequestData {
            input: Some(json!({"words": 300})),
            lacking: Some(json!({"topic": {"required": true}})),
        };
        let labels = |message: &a2a::Message| {
            let mut asked = of(message).expect("it says something");
            give(&mut asked, given());
            let labels = asked.parts.iter().map(|part| match part {
                PromptPart::Text(text) => text.clone(),
                PromptPart::Data { label, value } => format!("{label} {value}"),
                other => panic!("{other:?}"),
            });
            labels.collect::<Vec<_>>()
        };
        let lacking = r#"inputs_not_given {"topic":{"required":true}}"#;
        let expected = ["write", r#"input {"words":300}"#, lacking];
        assert_eq!(labels(&message), expected);
        message.content.push(a2a::Part::data(&json!({"words": 5})));
        assert_eq!(labels(&message), expected, "one input, with its defaults");
    }

    #[test]
    fn a_message_without_content_asks_nothing() {
        assert_eq!(of(&a2a::Message::new(a2a::Role::User, " ")), None);
    }
}
