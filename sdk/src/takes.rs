//! Inputs of skills: whether the data of a request fits, and what it lacks.

use std::collections::BTreeMap;

use agenthub_proto::a2a::AgentCard;
use agenthub_runs::tool_loop::with_defaults;
use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::{contracts, schema};

/// Input of a skill, as the card says.
#[derive(Debug)]
pub(crate) struct Takes {
    schema: Value,
    validator: Validator,
}

/// The data of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RequestData {
    /// The data for the skill, with defaults.
    pub(crate) input: Option<Value>,
    /// The inputs that were not given, by name, where one of them is required.
    pub(crate) lacking: Option<Value>,
}

impl Takes {
    /// # Errors
    ///
    /// The fault of the schema.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        Ok(Self {
            validator: schema::compile(schema)?,
            schema: schema.clone(),
        })
    }

    /// The data with the schema's defaults.
    ///
    /// # Errors
    ///
    /// Everything that does not fit, in words for who asked.
    pub(crate) fn filled(&self, skill: &str, input: Value) -> Result<Value, String> {
        let input = with_defaults(&self.schema, input);
        match schema::violations(&self.validator, &input) {
            None => Ok(input),
            Some(violations) => Err(format!(
                "the data does not fit what {skill} takes: {violations}"
            )),
        }
    }

    /// True if this has anything of what is taken.
    pub(crate) fn is_for(&self, input: &Value) -> bool {
        let Some(fields) = input.as_object() else {
            return false;
        };
        let known = self.schema["properties"].as_object();
        known.is_none_or(|known| fields.keys().any(|field| known.contains_key(field)))
    }

    /// The data of a request in words alone.
    fn of_words(&self) -> RequestData {
        let input = with_defaults(&self.schema, Value::Object(Map::new()));
        let required: Vec<&str> = self.schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let own = self.schema["properties"].as_object();
        let mut lacking = own.cloned().unwrap_or_default();
        lacking.retain(|name, _| input.get(name).is_none());
        for (name, property) in &mut lacking {
            if let Some(property) = property.as_object_mut() {
                property.insert("required".to_owned(), required.contains(&&**name).into());
            }
        }
        let is_lacking = lacking.keys().any(|name| required.contains(&&**name));
        RequestData {
            input: Some(input).filter(|input| input.as_object().is_some_and(|i| !i.is_empty())),
            lacking: is_lacking.then_some(Value::Object(lacking)),
        }
    }
}

/// Inputs of the skills of a card, by skill id.
#[derive(Debug, Default)]
pub(crate) struct Intake(BTreeMap<String, Takes>);

impl Intake {
    /// # Errors
    ///
    /// The skill whose schema cannot be used, and why.
    pub(crate) fn new(card: &AgentCard) -> Result<Self, String> {
        let contracts = contracts(card).into_iter();
        let schemas = contracts.filter_map(|(skill, contract)| Some((skill, contract.input?)));
        let takes = schemas.map(|(skill, schema)| match Takes::new(&schema) {
            Ok(takes) => Ok((skill, takes)),
            Err(error) => Err(format!(
                "what its skill {skill:?} takes cannot be used: {error}"
            )),
        });
        takes.collect::<Result<_, _>>().map(Self)
    }

    /// Context of a request for this skill, which is given by its id, by its name, or not at all: then the card's only one is meant.
    ///
    /// Data has to fit, unless it comes with words and has nothing that the skill takes: then the request is one in words, and the data goes
    /// with them.
    ///
    /// # Errors
    ///
    /// The fault of the data.
    pub(crate) fn given(
        &self,
        card: &AgentCard,
        task_type: &str,
        data: Option<Value>,
        has_words: bool,
    ) -> Result<RequestData, String> {
        let skill = match (task_type, card.skills.as_slice()) {
            ("", [only]) => Some(only),
            ("", _) => None,
            (named, skills) => skills
                .iter()
                .find(|skill| skill.id == named)
                .or_else(|| skills.iter().find(|skill| skill.name == named)),
        };
        let Some((skill, takes)) = skill.and_then(|s| Some((&s.id, self.0.get(&s.id)?))) else {
            return Ok(RequestData::default());
        };
        let is_empty = |data: &Value| data.as_object().is_some_and(Map::is_empty);
        let Some(data) = data.filter(|data| !has_words || !is_empty(data)) else {
            return Ok(takes.of_words());
        };
        if has_words && !takes.is_for(&data) {
            return Ok(RequestData {
                input: Some(with_defaults(&takes.schema, data)),
                ..takes.of_words()
            });
        }
        Ok(RequestData {
            input: Some(takes.filled(skill, data)?),
            lacking: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Card, Skill};
    use serde_json::json;

    fn card() -> AgentCard {
        let takes = json!({
            "type": "object",
            "properties": {
                "topic": {"type": "string", "description": "what about"},
                "words": {"type": "number", "default": 300},
                "tone": {"enum": ["dry", "warm"]},
            },
            "required": ["topic"],
            "additionalProperties": false,
        });
        Card::new("writer", "")
            .skill(Skill::new("write", "Write", ""))
            .input_schema("write", takes)
            .into()
    }

    fn given(task_type: &str, data: Option<Value>, has_words: bool) -> Result<RequestData, String> {
        let card = card();
        let intake = Intake::new(&card).expect("the schema is one");
        intake.given(&card, task_type, data, has_words)
    }

    /// spec: SOP-3.7, SOP-5.6
    #[test]
    fn data_for_a_skill_gets_its_defaults() {
        let expected = RequestData {
            input: Some(json!({"topic": "rain", "words": 300})),
            lacking: None,
        };
        for task_type in ["write", "Write", ""] {
            let found = given(task_type, Some(json!({"topic": "rain"})), true);
            assert_eq!(found.as_ref(), Ok(&expected), "{task_type:?}");
        }
    }

    /// spec: SOP-3.4, SOP-3.6, SOP-5.4
    #[test]
    fn data_that_does_not_fit_is_refused_with_every_violation() {
        let data = json!({"words": "many", "tone": "loud", "colour": "red"});
        for (task_type, has_words) in [("write", true), ("write", false), ("", true), ("", false)] {
            let error = given(task_type, Some(data.clone()), has_words).expect_err("it does not");
            for part in [
                "what write takes",
                "\"/words\"",
                "\"/tone\"",
                "colour",
                "topic",
            ] {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
        let nothing = given("write", Some(json!({})), false).expect_err("no words, no data");
        assert!(nothing.contains("topic"), "{nothing}");
    }

    /// spec: SOP-5.7
    #[test]
    fn a_request_in_words_is_told_what_is_lacking() {
        let expected = RequestData {
            input: Some(json!({"words": 300})),
            lacking: Some(json!({
                "topic": {"type": "string", "description": "what about", "required": true},
                "tone": {"enum": ["dry", "warm"], "required": false},
            })),
        };
        assert_eq!(given("write", None, true), Ok(expected.clone()));
        assert_eq!(given("write", Some(json!({})), true), Ok(expected));
    }

    /// spec: SOP-5.7
    #[test]
    fn data_that_has_nothing_of_a_skill_goes_with_the_words() {
        let in_words = given("write", None, true).expect("words are enough");
        for task_type in ["write", "Write", ""] {
            let beside = given(task_type, Some(json!({"text": "about rain"})), true);
            let expected = RequestData {
                input: Some(json!({"text": "about rain", "words": 300})),
                lacking: in_words.lacking.clone(),
            };
            assert_eq!(beside, Ok(expected), "{task_type:?}");
            let alone = given(task_type, Some(json!({"text": "about rain"})), false);
            let error = alone.expect_err("there are no words");
            assert!(error.contains("text"), "{error}");
        }
    }

    #[test]
    fn skills_that_take_nothing_in_particular_take_anything() {
        let card: AgentCard = Card::new("a", "").skill(Skill::new("b", "", "")).into();
        let intake = Intake::new(&card).expect("there is no schema");
        for task_type in ["b", "", "unknown"] {
            let found = intake.given(&card, task_type, Some(json!({"x": 1})), true);
            assert_eq!(found, Ok(RequestData::default()));
        }
        let bad = Card::new("a", "").skill(Skill::new("b", "", ""));
        let bad: AgentCard = bad.input_schema("b", json!({"type": "banana"})).into();
        let error = Intake::new(&bad).expect_err("it is no schema");
        assert!(error.contains("\"b\""), "{error}");
    }
}
