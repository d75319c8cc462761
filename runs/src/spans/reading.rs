//! Attributes and events read from outputs: scores, depth, names and sizes of artifacts.

use serde_json::Value as Json;

use super::{
    Event, Value,
    conventions::{
        ARTIFACT, ARTIFACT_BYTES, ARTIFACT_NAME, DEPTH, EVALUATION, EVALUATION_NAME, LABEL,
        PROGRESS, RUN_SCORE, SCORE,
    },
};

/// Maximum events read from one value.
const MAX_EVENTS: usize = 64;

/// Maximum bytes of an identifier.
const MAX_WORD: usize = 64;

/// The evaluations in an agent's output: its verdict under the capability's name, and each of its checks. An output is
/// an evaluation if an object in it has a number `score` and a boolean `pass`.
pub(super) fn evaluations(capability: &str, data: &[Json], at_ms: u64) -> Vec<Event> {
    let objects = data.iter().filter_map(Json::as_object);
    let verdicts = objects.flat_map(|o| o.values()).filter(|v| is_verdict(v));
    let mut events = Vec::new();
    for verdict in verdicts {
        let label = match verdict["pass"].as_bool() {
            Some(true) => "pass",
            _ => "fail",
        };
        let score = verdict["score"].as_f64();
        events.push(evaluation(capability, score, label, at_ms));
        let checks = verdict["checks"].as_array().into_iter().flatten();
        events.extend(checks.zip(1..).filter_map(|(check, n)| {
            let name = match word(&check["id"]) {
                Some(id) => format!("{capability}/{id}"),
                None => format!("{capability}/{n}"),
            };
            let label = word(&check["verdict"])?;
            Some(evaluation(&name, check["score"].as_f64(), label, at_ms))
        }));
    }
    events.truncate(MAX_EVENTS);
    events
}

/// An identifier; `None` for free text, which may be content.
fn word(value: &Json) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let text = value.as_str()?;
    let is_word = !text.is_empty() && text.len() <= MAX_WORD && text.chars().all(is_plain);
    is_word.then_some(text)
}

fn is_verdict(value: &Json) -> bool {
    value["score"].is_number() && value["pass"].is_boolean()
}

fn evaluation(name: &str, score: Option<f64>, label: &str, at_ms: u64) -> Event {
    let mut attributes = vec![(EVALUATION_NAME, name.into()), (LABEL, label.into())];
    if let Some(score) = score {
        attributes.push((SCORE, score.into()));
    }
    Event {
        name: EVALUATION,
        at_ms,
        attributes,
    }
}

/// Depth and score of a run, as its strategy notes them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundScore {
    /// Rounds so far.
    pub depth: Option<u64>,
    /// Last score.
    pub score: Option<f64>,
}

impl RoundScore {
    /// Reads `depth` and `score` from a note's data, or from a `review` in it.
    pub fn of(note: &Json) -> Option<Self> {
        let data = &note["data"];
        let standing = Self::read(data).over(Self::read(&data["review"]));
        (standing != Self::default()).then_some(standing)
    }

    /// Reads the final depth and score from the run's bundle.
    pub(super) fn at_last(bundle: &Json) -> Self {
        Self::read(&bundle["quality"])
    }

    fn read(value: &Json) -> Self {
        Self {
            depth: value["depth"].as_u64(),
            score: value["score"].as_f64(),
        }
    }

    /// Takes missing values from `before`.
    pub(super) fn over(self, before: Self) -> Self {
        Self {
            depth: self.depth.or(before.depth),
            score: self.score.or(before.score),
        }
    }

    pub(super) fn attributes(self) -> Vec<(&'static str, Value)> {
        let depth = self.depth.map(|depth| (DEPTH, depth.into()));
        let score = self.score.map(|score| (RUN_SCORE, score.into()));
        depth.into_iter().chain(score).collect()
    }

    pub(super) fn event(self, at_ms: u64) -> Event {
        Event {
            name: PROGRESS,
            at_ms,
            attributes: self.attributes(),
        }
    }
}

/// Name and size of each artifact: the members of the objects in the data.
pub(super) fn artifacts<'a>(data: impl IntoIterator<Item = &'a Json>, at_ms: u64) -> Vec<Event> {
    let objects = data.into_iter().filter_map(Json::as_object);
    let made = objects.flatten().map(|(name, value)| Event {
        name: ARTIFACT,
        at_ms,
        attributes: vec![
            (ARTIFACT_NAME, name.as_str().into()),
            (ARTIFACT_BYTES, size(value).into()),
        ],
    });
    made.take(MAX_EVENTS).collect()
}

/// Bytes as JSON; of a text, its own bytes.
fn size(value: &Json) -> u64 {
    match value {
        Json::String(text) => text.len() as u64,
        value => value.to_string().len() as u64,
    }
}
