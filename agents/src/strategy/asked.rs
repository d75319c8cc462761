//! The request for a strategy.

use serde_json::Value;

use super::{
    comparison::{Comparison, compare},
    knob::Knob,
    past::{self, MAX_NAMES},
};

/// The letters that a word of the objective and a metric's name must share at their beginning to mean the same.
const SAME_LETTERS: usize = 4;

/// A request for a strategy, read from its payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) brief: String,
    pub(super) objective: String,
    pub(super) audience: String,
    pub(super) platform: Option<String>,
    pub(super) schedule: Value,
    pub(super) knobs: Vec<Knob>,
    pub(super) posts: Vec<Value>,
}

impl Asked {
    /// Reads a payload. What has another form than it should counts as absent.
    pub(super) fn read(input: &Value) -> Self {
        let posts = match &input["priorPerformance"] {
            Value::Array(posts) => posts.clone(),
            _ => Vec::new(),
        };
        Self {
            brief: words(&input["brief"]),
            objective: words(&input["objective"]),
            audience: words(&input["audience"]),
            platform: input["platform"].as_str().map(str::to_owned),
            schedule: input["schedule"].clone(),
            knobs: knobs(&input["knobs"], &posts),
            posts,
        }
    }

    /// The metrics of the past posts, and how many posts have each; the most frequent first.
    pub(super) fn metrics(&self) -> Vec<(String, usize)> {
        past::names(&self.posts, "metrics")
    }

    /// The metric that counts: the one that the objective names, else the one that most posts have.
    pub(super) fn metric(&self) -> Option<String> {
        let metrics = self.metrics();
        let objective = stems(&self.objective);
        let is_named = |name: &str| stems(name).iter().any(|stem| objective.contains(stem));
        let named = metrics.iter().find(|(name, _)| is_named(name));
        let most = metrics.first().filter(|(_, usable)| *usable > 0);
        named.or(most).map(|(name, _)| name.clone())
    }

    /// Each knob by this metric.
    pub(super) fn compared(&self, metric: &str) -> Vec<Comparison> {
        let knobs = self.knobs.iter();
        knobs
            .map(|knob| compare(&self.posts, knob, metric))
            .collect()
    }
}

/// The knobs that the payload names; if it names none, those that the past posts have.
fn knobs(said: &Value, posts: &[Value]) -> Vec<Knob> {
    match said.as_object().filter(|said| !said.is_empty()) {
        Some(said) => {
            let said = said.iter().take(MAX_NAMES);
            said.map(|(name, said)| Knob::new(name, said)).collect()
        }
        None => {
            let names = past::names(posts, "knobs").into_iter();
            names
                .map(|(name, _)| Knob::new(&name, &Value::Null))
                .collect()
        }
    }
}

/// A text, or the texts of a list or an object one after the other.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => joined(items.iter()),
        Value::Object(fields) => joined(fields.values()),
        _ => String::new(),
    }
}

fn joined<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let texts = values.map(words).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join(" ")
}

/// The beginnings of the words, in small letters; `clickRate` is two words.
fn stems(text: &str) -> Vec<String> {
    let mut apart = String::new();
    for c in text.chars() {
        if c.is_uppercase() {
            apart.push(' ');
        }
        apart.extend(c.to_lowercase());
    }
    apart
        .split(|c: char| !c.is_alphanumeric())
        .map(|word| word.chars().take(SAME_LETTERS).collect::<String>())
        .filter(|stem| stem.chars().count() == SAME_LETTERS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(objective: &str) -> Asked {
        let metrics = json!({"clickRate": 1, "comments": 2});
        let posts =
            json!([{"metrics": metrics, "knobs": {"b": 1, "a": 0}}, {"metrics": {"comments": 3}}]);
        Asked::read(
            &json!({"brief": "Tell them.", "objective": objective, "priorPerformance": posts}),
        )
    }

    #[test]
    fn the_metric_is_the_one_that_the_objective_names_or_the_most_frequent() {
        let metric = |objective: &str| asked(objective).metric();
        assert_eq!(
            metric("More clicks on the page").as_deref(),
            Some("clickRate")
        );
        assert_eq!(metric("be known").as_deref(), Some("comments"));
        assert_eq!(Asked::read(&json!({})).metric(), None);
    }

    #[test]
    fn knobs_are_those_of_the_payload_or_of_the_past() {
        let names =
            |asked: Asked| -> Vec<String> { asked.knobs.into_iter().map(|k| k.name).collect() };
        assert_eq!(names(asked("")), ["a", "b"]);
        assert_eq!(names(Asked::read(&json!({"knobs": {"z": 0.1}}))), ["z"]);
        assert_eq!(
            names(Asked::read(&json!({"knobs": "all", "priorPerformance": 3}))),
            [""; 0]
        );
    }

    #[test]
    fn a_brief_may_be_a_structure() {
        let asked = Asked::read(
            &json!({"brief": {"what": "Bikes.", "why": ["Clean.", {"x": "Fast."}], "n": 3}}),
        );
        assert_eq!(asked.brief, "Bikes. Clean. Fast.");
    }
}
