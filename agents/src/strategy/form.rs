//! The data that the skill answers with.

use agenthub_sdk::Form;
use serde_json::{Value, json};

use super::{analysis, asked::Asked, schedule};

/// The past posts that a model is shown; its tools look at all of them.
const SHOWN: usize = 5;

/// `{ strategy: { schedule, rationale, knobs } }`, to which what was computed is added as `analysis`.
#[derive(Debug)]
pub(super) struct Strategy;

/// Answer of the model.
pub(super) fn answer() -> Value {
    let text = |what: &str| json!({"type": "string", "minLength": 1, "description": what});
    json!({
        "type": "object",
        "required": ["strategy"],
        "properties": {"strategy": {
            "type": "object",
            "required": ["schedule", "rationale", "knobs"],
            "properties": {
                "schedule": {"type": "array", "items": {
                    "type": "object",
                    "required": ["when", "what"],
                    "properties": {
                        "when": text("A date, or a day counted from the start"),
                        "what": {"type": "string", "description": "What the post is about"},
                        "platform": {"type": "string"},
                    },
                }},
                "rationale": text("Why so, from the numbers"),
                "knobs": {"type": "object", "description": "The setting of each knob", "additionalProperties": {"type": "number"}},
            },
        }},
    })
}

impl Form for Strategy {
    fn schema(&self) -> Value {
        answer()
    }

    fn shown(&self, mut input: Value) -> Value {
        if let Some(posts) = input["priorPerformance"].as_array()
            && posts.len() > SHOWN
        {
            let first = posts[..SHOWN].to_vec();
            let left_out = posts.len() - SHOWN;
            input["priorPerformance"] = json!({ "firstPosts": first, "leftOut": left_out });
        }
        input
    }

    fn accept(&self, input: &Value, mut answer: Value) -> Result<Value, String> {
        let asked = Asked::read(input);
        if let Some(fault) = schedule::fault(&asked) {
            return Err(fault);
        }
        check(&asked, &answer["strategy"]["knobs"])?;
        define(&input["knobs"], &mut answer["strategy"]["knobs"]);
        answer["analysis"] = analysis::of(&asked);
        Ok(answer)
    }

    fn told(&self, output: &Value) -> String {
        let strategy = &output["strategy"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let knobs = strategy["knobs"].as_object().into_iter().flatten();
        let setting = |knob: &Value| knob.get("value").unwrap_or(knob).clone();
        let knobs = knobs.map(|(name, knob)| format!("- {name}: {}", setting(knob)));
        let posts = strategy["schedule"].as_array().into_iter().flatten();
        let posts = posts.map(|post| format!("- {}: {}", text(&post["when"]), text(&post["what"])));
        let lists = [
            ("Knobs", knobs.collect::<Vec<_>>()),
            ("Schedule", posts.collect()),
        ];
        let lists = lists.into_iter().filter(|(_, lines)| !lines.is_empty());
        let lists = lists.map(|(title, lines)| format!("{title}:\n{}", lines.join("\n")));
        std::iter::once(text(&strategy["rationale"]))
            .chain(lists)
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    fn growing(&self) -> Option<&str> {
        Some("/strategy/rationale")
    }
}

/// Gives each setting the definition that its knob came with, so that whoever gets the strategy knows how it is measured.
fn define(asked: &Value, settings: &mut Value) {
    for (name, setting) in settings.as_object_mut().into_iter().flatten() {
        if let Some(definition) = asked[name].as_object() {
            let mut defined = definition.clone();
            defined.insert("value".to_owned(), setting.take());
            *setting = defined.into();
        }
    }
}

/// Checks whether each knob that was asked for is set within its range, and no other.
fn check(asked: &Asked, settings: &Value) -> Result<(), String> {
    for knob in &asked.knobs {
        let (name, min, max) = (&knob.name, knob.min, knob.max);
        match settings[name].as_f64() {
            None => return Err(format!("strategy.knobs has no setting for {name:?}")),
            Some(setting) if !(min..=max).contains(&setting) => {
                return Err(format!(
                    "the setting of {name:?} is not between {min} and {max}"
                ));
            }
            Some(_) => {}
        }
    }
    let is_asked = |name: &str| asked.knobs.iter().any(|knob| knob.name == name);
    let mut names = settings
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name);
    match names.find(|name| !is_asked(name)) {
        Some(name) => Err(format!(
            "strategy.knobs sets {name:?}, which nobody asked for"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(knobs: Value) -> Result<Value, String> {
        let input = json!({"brief": "b", "knobs": {"warmth": 0.4, "pace": {"min": 1, "max": 5}}});
        let answer = json!({"strategy": {"schedule": [{"when": "day 1", "what": "news"}], "rationale": "So.", "knobs": knobs}});
        Strategy.accept(&input, answer)
    }

    /// spec: ORC-5.2
    #[test]
    fn settings_are_taken_for_the_knobs_that_were_asked_for_and_within_their_ranges() {
        let output = accepted(json!({"warmth": 0.5, "pace": 5})).expect("they fit");
        assert_eq!(output["analysis"]["posts"], 0);
        assert_eq!(
            output["strategy"]["knobs"],
            json!({"warmth": 0.5, "pace": {"min": 1, "max": 5, "value": 5}})
        );
        assert_eq!(
            Strategy.told(&output),
            "So.\n\nKnobs:\n- warmth: 0.5\n- pace: 5\n\nSchedule:\n- day 1: news"
        );
        for (knobs, part) in [
            (json!({"warmth": 0.5}), "no setting for \"pace\""),
            (json!({"warmth": 1.5, "pace": 2}), "not between 0 and 1"),
            (
                json!({"warmth": 0.5, "pace": 2, "x": 1}),
                "\"x\", which nobody asked for",
            ),
        ] {
            let error = accepted(knobs).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_model_is_shown_a_few_posts_only() {
        let shown =
            Strategy.shown(json!({"brief": "b", "priorPerformance": [1, 2, 3, 4, 5, 6, 7]}));
        let expected = json!({"firstPosts": [1, 2, 3, 4, 5], "leftOut": 2});
        assert_eq!(shown["priorPerformance"], expected);
        let few = json!({"priorPerformance": [1]});
        assert_eq!(Strategy.shown(few.clone()), few);
    }
}
