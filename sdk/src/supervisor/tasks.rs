//! An agent as a tool that takes a task, and beside it the fields of what the agent's only skill takes.

use agenthub_proto::a2a::AgentCard;
use serde_json::{Map, Value, json};

use super::schemas::standing_alone;
use crate::contracts;

/// The longest description, in characters; what is longer is cut.
const MAX_DESCRIPTION: usize = 4096;

/// The field that says what is to be done.
const TASK: &str = "task";

/// Keywords of a schema that leave room for one more field.
const PLAIN: [&str; 8] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "title",
    "description",
    "default",
    "examples",
];

/// The schema of `{ task, ... }`. Nothing where the card has several skills, where `task` is the name of something else, or where what the
/// skill takes cannot be put before a model.
pub(super) fn parameters(card: &AgentCard) -> Option<Value> {
    if card.skills.len() > 1 {
        return None;
    }
    let contract = contracts(card).into_values().next();
    let inputs = match contract.and_then(|contract| contract.input) {
        None => json!({}),
        Some(schema) => standing_alone(&schema)?,
    };
    let is_plain = inputs
        .as_object()?
        .keys()
        .all(|key| PLAIN.contains(&&**key));
    let is_object = inputs.get("type").is_none_or(|kind| kind == "object");
    let own = inputs["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    if !is_plain || !is_object || own.contains_key(TASK) {
        return None;
    }
    let required = required(&inputs, &own);
    let what = "The specific task to perform, in words that the agent understands without having seen this conversation";
    let mut properties = Map::new();
    properties.insert(
        TASK.to_owned(),
        json!({"type": "string", "description": what}),
    );
    properties.extend(own);
    let others = inputs.get("additionalProperties").cloned();
    Some(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": others.unwrap_or(Value::Bool(false)),
    }))
}

/// The fields that have to be given: what has a default is filled in.
fn required(inputs: &Value, own: &Map<String, Value>) -> Vec<String> {
    let has_default = |name: &str| own.get(name).is_some_and(|p| p.get("default").is_some());
    let names = inputs["required"].as_array().into_iter().flatten();
    let names = names.filter_map(Value::as_str);
    let names = names.filter(|name| !has_default(name)).map(str::to_owned);
    [TASK.to_owned()].into_iter().chain(names).collect()
}

/// The agent's own description, word for word. Nothing where it has none.
pub(super) fn description(card: &AgentCard) -> Option<String> {
    let text = &card.description;
    match text.char_indices().nth(MAX_DESCRIPTION) {
        _ if text.trim().is_empty() => None,
        None => Some(text.clone()),
        Some((end, _)) => Some(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Card, Skill};

    fn card(schema: Option<Value>) -> AgentCard {
        let card =
            Card::new("writer", "Writes:\n  short and dry.").skill(Skill::new("writer", "", ""));
        match schema {
            Some(schema) => card.input_schema("writer", schema).into(),
            None => card.into(),
        }
    }

    /// spec: SOP-5.2, SOP-5.3, SOP-5.4
    #[test]
    fn a_tool_takes_a_task_and_the_inputs_as_the_agent_has_them() {
        let card = card(Some(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "topic": {"type": "string", "description": "what about"},
                "words": {"type": "number", "default": 300},
                "tone": {"type": "string", "enum": ["dry", "warm"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "draft": {"type": "boolean"},
            },
            "required": ["topic", "words"],
        })));
        assert_eq!(
            description(&card).as_deref(),
            Some("Writes:\n  short and dry.")
        );
        let parameters = parameters(&card).expect("it fits");
        let what = parameters["properties"]["task"]["description"].clone();
        assert!(what.as_str().is_some_and(|what| what.contains("task")));
        let expected = json!({
            "type": "object",
            "properties": {
                "task": {"type": "string", "description": what},
                "topic": {"type": "string", "description": "what about"},
                "words": {"type": "number", "default": 300},
                "tone": {"type": "string", "enum": ["dry", "warm"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "draft": {"type": "boolean"},
            },
            "required": ["task", "topic"],
            "additionalProperties": false,
        });
        assert_eq!(parameters, expected);
    }

    /// spec: SOP-5.3
    #[test]
    fn an_agent_without_inputs_takes_a_task() {
        let parameters = parameters(&card(None)).expect("it fits");
        assert_eq!(parameters["required"], json!(["task"]));
        assert_eq!(parameters["properties"].as_object().map(Map::len), Some(1));
        assert_eq!(description(&Card::new("a", " ").into()), None);
    }

    #[test]
    fn what_a_task_has_no_place_in_is_asked_in_another_way() {
        let property =
            |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
        assert!(parameters(&card(Some(property("topic")))).is_some());
        for unfit in [
            property("task"),
            json!({"type": "string"}),
            json!({"type": "object", "maxProperties": 1}),
            json!({"oneOf": [property("a"), property("b")]}),
            json!({"$ref": "https://example.com/s.json"}),
        ] {
            assert_eq!(parameters(&card(Some(unfit.clone()))), None, "{unfit}");
        }
        let two = Card::new("a", "").skill(Skill::new("b", "", ""));
        let two: AgentCard = two.skill(Skill::new("c", "", "")).into();
        assert_eq!(parameters(&two), None);
    }
}
