//! The brief of a draft: what a model is asked for, and how one is made without a model.

use agenthub_sdk::Form;
use serde_json::{Map, Value, json};

use super::{blocks, material::texts};
use crate::text::sentences;

/// Fields that a brief takes over from the request as they are.
const TAKEN_OVER: [&str; 8] = [
    "clientProfile",
    "platform",
    "language",
    "audience",
    "objective",
    "platformRules",
    "brandRules",
    "constraints",
];

/// The fields of a client's profile that a brief has a place of its own for.
const OF_THE_CLIENT: [&str; 5] = [
    "name",
    "toneOfVoice",
    "audience",
    "specialInstructions",
    "hashtags",
];

/// The request's own words that are for a brief.
const WORDS: [&str; 7] = [
    "headline",
    "keyMessages",
    "facts",
    "callToAction",
    "link",
    "hashtags",
    "emoji",
];

/// `{ brief: { description, keyMessages, callToAction, …, knobs, mustInclude, platform, language } }`.
#[derive(Debug)]
pub(super) struct Brief;

/// Answer of the model, and output of the skill.
pub(super) fn answer() -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    let texts =
        |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
    json!({
        "type": "object",
        "required": ["brief"],
        "properties": {"brief": {
            "type": "object",
            "required": ["description"],
            "properties": {
                "headline": text("The opening line, or what it says"),
                "description": text("What the text is about"),
                "keyMessages": texts("What the reader is to take away, most important first"),
                "callToAction": text("What the reader is to do"),
                "toneOfVoice": text("How it sounds"),
                "audience": text("Whom it is for"),
                "mustInclude": texts("What has to be in the text word for word"),
                "knobs": {"type": "object", "description": "The knobs with their settings"},
                "platform": text("Where it is published"),
                "language": text("Which language it is written in"),
            },
        }},
    })
}

impl Form for Brief {
    fn schema(&self) -> Value {
        answer()
    }

    /// Accepts the model's brief; the request's own settings stand in it, whatever the model makes of them.
    fn accept(&self, input: &Value, mut answer: Value) -> Result<Value, String> {
        let brief = answer["brief"]
            .as_object_mut()
            .ok_or("the brief is no object")?;
        for field in TAKEN_OVER {
            if !input[field].is_null() {
                brief.insert(field.to_owned(), input[field].clone());
            }
        }
        let mut include = texts(&input["mustInclude"]);
        include.extend(texts(
            &brief.get("mustInclude").cloned().unwrap_or_default(),
        ));
        let mut seen = std::collections::HashSet::new();
        include.retain(|text| seen.insert(text.clone()));
        brief.insert("mustInclude".to_owned(), json!(include));
        let knobs = knobs(input);
        brief.insert("knobs".to_owned(), knobs.into());
        Ok(answer)
    }

    fn told(&self, output: &Value) -> String {
        let brief = &output["brief"];
        let mut paragraphs: Vec<String> = ["headline", "description"]
            .iter()
            .flat_map(|field| texts(&brief[*field]))
            .collect();
        for (title, field) in [
            ("Key messages", "keyMessages"),
            ("Call to action", "callToAction"),
            ("Must include", "mustInclude"),
        ] {
            let lines: Vec<String> = texts(&brief[field])
                .iter()
                .map(|text| format!("- {text}"))
                .collect();
            if !lines.is_empty() {
                paragraphs.push(format!("{title}:\n{}", lines.join("\n")));
            }
        }
        paragraphs.join("\n\n")
    }
}

/// The knobs as the request defines them, with the settings of the strategy.
fn knobs(input: &Value) -> Map<String, Value> {
    let strategy = match &input["strategy"]["strategy"] {
        Value::Null => &input["strategy"],
        inner => inner,
    };
    let mut knobs = input["knobs"].as_object().cloned().unwrap_or_default();
    for (name, knob) in strategy["knobs"].as_object().into_iter().flatten() {
        let setting = knob.get("value").unwrap_or(knob);
        match knobs.get_mut(name) {
            Some(Value::Object(definition)) => {
                definition.insert("value".to_owned(), setting.clone());
            }
            _ => _ = knobs.insert(name.clone(), knob.clone()),
        }
    }
    knobs
}

/// A brief without a model: the request's own words, in their places.
pub(super) fn computed(input: &Value) -> Value {
    let mut brief = Map::new();
    for field in OF_THE_CLIENT {
        let said = &input["clientProfile"][field];
        if !said.is_null() {
            brief.insert(field.to_owned(), said.clone());
        }
    }
    for field in WORDS {
        if !input[field].is_null() {
            brief.insert(field.to_owned(), input[field].clone());
        }
    }
    let said = input["clientBrief"].as_str().unwrap_or_default();
    brief.insert("description".to_owned(), said.trim().into());
    if !brief.contains_key("keyMessages") {
        // Code is in the description as it stands.
        let prose = blocks::prose(said);
        let first: Vec<&str> = sentences::of(&prose).into_iter().take(5).collect();
        brief.insert("keyMessages".to_owned(), json!(first));
    }
    json!({ "brief": brief })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Value {
        json!({
            "clientBrief": "We repair bikes. Come by.",
            "clientProfile": {"toneOfVoice": "plain", "secret": "x"},
            "strategy": {"strategy": {"knobs": {"pace": {"measure": "sentence_length", "value": 0.7}, "warmth": 0.2}, "rationale": "r"}},
            "knobs": {"pace": {"measure": "sentence_length", "value": 0.5}},
            "mustInclude": ["Open daily"],
            "platform": "p",
            "language": "xx",
            "callToAction": "Come by.",
        })
    }

    /// spec: ORC-2.2, ORC-5.2, ORC-7
    #[test]
    fn a_brief_has_the_knobs_of_the_strategy_and_what_the_request_settles() {
        let brief = Brief.accept(&input(), computed(&input())).expect("it fits");
        insta::assert_json_snapshot!(brief);
        let validator = jsonschema::validator_for(&answer()).expect("a schema");
        assert!(validator.is_valid(&brief));
    }

    #[test]
    fn a_model_does_not_change_what_is_settled() {
        let answer = json!({"brief": {
            "description": "d", "platform": "other", "knobs": {"x": 1}, "mustInclude": ["Open daily", "Free"],
        }});
        let output = Brief.accept(&input(), answer).expect("it fits");
        let brief = &output["brief"];
        assert_eq!(
            (&brief["platform"], &brief["language"]),
            (&json!("p"), &json!("xx"))
        );
        assert_eq!(brief["mustInclude"], json!(["Open daily", "Free"]));
        let knobs = json!({"pace": {"measure": "sentence_length", "value": 0.7}, "warmth": 0.2});
        assert_eq!(brief["knobs"], knobs);
        assert_eq!(
            Brief.told(&output),
            "d\n\nMust include:\n- Open daily\n- Free"
        );
    }
}
