//! What spans take from the values that runs hand on: scores, depth, names and sizes of what was made.

use serde_json::Value as Json;

use super::{
    Event, Value,
    conventions::{
        ARTIFACT, ARTIFACT_BYTES, ARTIFACT_NAME, DEPTH, EVALUATION, EVALUATION_NAME, LABEL,
        PROGRESS, RUN_SCORE, SCORE,
    },
};

/// The most events of one reading.
const MAX_EVENTS: usize = 64;

/// The longest identifier, in bytes.
const MAX_WORD: usize = 64;

/// The evaluations in what an agent gave back: its verdict under its capability's name, and each of its checks. An output is an
/// evaluation where an object in it has a number `score` and a truth `pass`.
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

/// An identifier. What reads like a sentence may be what somebody said.
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

/// Where a run stands, as a note of its strategy tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// The rounds so far.
    pub depth: Option<u64>,
    /// The last score.
    pub score: Option<f64>,
}

impl Standing {
    /// What a note tells of it, if it does: `depth` and `score` of its data, or of a `review` there.
    pub fn of(note: &Json) -> Option<Self> {
        let data = &note["data"];
        let standing = Self::read(data).over(Self::read(&data["review"]));
        (standing != Self::default()).then_some(standing)
    }

    /// What the bundle that a run ends with tells of it.
    pub(super) fn at_last(bundle: &Json) -> Self {
        Self::read(&bundle["quality"])
    }

    fn read(value: &Json) -> Self {
        Self {
            depth: value["depth"].as_u64(),
            score: value["score"].as_f64(),
        }
    }

    /// This, and what was known before where this says nothing.
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

/// What was made, by name and size: the members of the objects in it.
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

/// Bytes as JSON; of a text, its own.
fn size(value: &Json) -> u64 {
    match value {
        Json::String(text) => text.len() as u64,
        value => value.to_string().len() as u64,
    }
}
