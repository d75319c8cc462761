//! Progress of a request while a team works on it, and the summary at its end.

use std::collections::BTreeMap;

use agenthub_sdk::proto::{
    agenthub::{TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    json::from_struct,
};
use agenthub_sdk::{Update, internal::ANSWER_ARTIFACT, model::Undone, runs::Missing};
use agenthub_terminal::output;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The words of a request that are shown, in characters.
const MAX_WORDS: usize = 80;

/// Something to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// A line about what happens.
    Line(String),
    /// The next piece of the answer.
    Piece(String),
    /// The pieces so far were not the answer.
    Anew,
}

/// An agent that was asked.
#[derive(Clone, Debug)]
struct Asked {
    agent: String,
    request: String,
    since: Instant,
    seconds: Option<f64>,
    error: Option<String>,
    /// Parts that its answer lacks, and why, where it is partial.
    without: Vec<(String, String)>,
    /// Shortfall that its answer tells of, if something is undone.
    undone: Option<Undone>,
}

impl Asked {
    fn is_partial(&self) -> bool {
        !self.without.is_empty() || self.undone.is_some()
    }

    /// Shortfall that its answer tells of, if something is undone.
    fn own_words(&self) -> Option<&'static str> {
        self.undone.map(|undone| match undone {
            Undone::All => "it did nothing of it",
            Undone::Part => "it did it in part",
        })
    }
}

/// State of a request, as its events show it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// By task, in the order in which they were asked.
    order: Vec<String>,
    asked: BTreeMap<String, Asked>,
    /// The tasks that failed, in the order in which they did.
    failed: Vec<String>,
    /// The pieces of the answer so far.
    pieces: String,
}

impl Progress {
    /// Takes in what the orchestrator shows.
    pub(super) fn apply(&mut self, update: &Update) -> Vec<Show> {
        match update {
            Update::Status(status) => self.status(status).map(Show::Line).into_iter().collect(),
            Update::Artifact(artifact) => self.piece(artifact),
            _ => Vec::new(),
        }
    }

    /// The part of the whole answer that is still to be printed: the rest, if what was shown is its beginning.
    pub(super) fn rest<'a>(&self, answer: &'a str) -> Option<&'a str> {
        let shown = self.pieces.trim_end();
        match shown.is_empty() {
            true => None,
            false => answer.strip_prefix(shown),
        }
    }

    /// True if anything of an answer was shown.
    pub(super) fn has_shown(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Outcome of each agent that was asked.
    pub(super) fn agents(&self) -> Vec<Value> {
        let asked = self
            .order
            .iter()
            .filter_map(|task| Some((task, self.asked.get(task)?)));
        asked
            .map(|(task, asked)| {
                let state = match (&asked.error, asked.seconds) {
                    (Some(_), _) => "failed",
                    (None, Some(_)) if asked.is_partial() => "partial",
                    (None, Some(_)) => "completed",
                    (None, None) => "unfinished",
                };
                let mut agent = json!({"agent": asked.agent, "task": task, "state": state});
                if let Some(seconds) = asked.seconds {
                    agent["seconds"] = json!((seconds * 1000.0).round() / 1000.0);
                }
                if let Some(error) = &asked.error {
                    agent["error"] = error.as_str().into();
                }
                agent
            })
            .collect()
    }

    /// True if any agent that was asked gave a result.
    pub(super) fn has_any_completed(&self) -> bool {
        let mut asked = self.asked.values();
        asked.any(|asked| {
            let is_completed = asked.error.is_none() && asked.seconds.is_some();
            is_completed && asked.undone != Some(Undone::All)
        })
    }

    /// True if an answer of this agent lacks something.
    pub(super) fn is_partial(&self, agent: &str) -> bool {
        let mut asked = self.asked.values();
        asked.any(|asked| asked.agent == agent && asked.is_partial())
    }

    /// Parts that the answers of agents lack: tools and agents with whose they are, and why.
    pub(super) fn partial(&self) -> impl Iterator<Item = Missing> {
        let asked = self.order.iter().filter_map(|task| self.asked.get(task));
        asked.flat_map(|asked| {
            let of = |(name, why): &(String, String)| Missing {
                name: format!("{name} of {}", asked.agent),
                why: why.clone(),
                has_failed: true,
            };
            let own = || {
                Some(Missing {
                    name: asked.agent.clone(),
                    why: asked.own_words()?.to_owned(),
                    has_failed: false,
                })
            };
            let own = asked.without.is_empty().then(own).flatten();
            asked.without.iter().map(of).chain(own)
        })
    }

    /// The agents that failed and why, in the order in which they did.
    pub(super) fn failed(&self) -> impl Iterator<Item = Missing> {
        let failed = self.failed.iter().filter_map(|task| self.asked.get(task));
        failed.filter_map(|asked| {
            Some(Missing {
                name: asked.agent.clone(),
                why: asked.error.clone()?,
                has_failed: true,
            })
        })
    }

    fn status(&mut self, status: &TaskStatusUpdateEvent) -> Option<String> {
        let metadata = from_struct(status.metadata.as_ref()?);
        let tool = metadata.get("tool")?;
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        let (agent, task) = (text("agent"), text("taskId"));
        if agent.is_empty() {
            let name = text("name");
            return Some(match (tool.get("error"), tool.get("result")) {
                (Some(error), _) => format!("✗ {name}: {}", words(error)),
                (None, Some(_)) => format!("✓ {name}"),
                (None, None) => format!("→ {name} {}", words(&tool["arguments"])),
            });
        }
        let ended = match (tool.get("error"), tool.get("result")) {
            (Some(error), _) => Some(Err(whole(error))),
            (None, Some(_)) => Some(Ok(())),
            (None, None) => None,
        };
        let Some(ended) = ended else {
            let request = &tool["arguments"];
            let request = request.get("task").or_else(|| request.get("request"));
            let request = request.map(words).unwrap_or_default();
            let line = format!("→ {agent}: {request}");
            self.order.push(task.to_owned());
            let asked = Asked {
                agent: agent.to_owned(),
                request,
                since: Instant::now(),
                seconds: None,
                error: None,
                without: Vec::new(),
                undone: None,
            };
            self.asked.insert(task.to_owned(), asked);
            return Some(line);
        };
        let asked = self.asked.get_mut(task)?;
        let seconds = asked.since.elapsed().as_secs_f64();
        asked.seconds = Some(seconds);
        // Where one agent is asked twice at once, its name does not tell which is over.
        let twice = self
            .order
            .iter()
            .filter(|t| self.asked[*t].agent == agent)
            .count()
            > 1;
        let which = match twice {
            true => format!("{agent} ({})", self.asked[task].request),
            false => agent.to_owned(),
        };
        Some(match ended {
            Ok(()) => {
                let without = without(&tool["partial"]);
                let asked = self.asked.get_mut(task)?;
                asked.undone = Undone::deserialize(&tool["undone"]).ok();
                let line = match (without.is_empty(), asked.own_words()) {
                    (true, None) => format!("✓ {which}, after {seconds:.1} s"),
                    (true, Some(words)) => format!("◐ {which}, after {seconds:.1} s: {words}"),
                    (false, _) => {
                        let each = without.iter().map(|(name, why)| format!("{name} ({why})"));
                        let all = each.collect::<Vec<_>>().join(", ");
                        let short = output::cut(&all, MAX_WORDS);
                        format!("◐ {which}, after {seconds:.1} s, in part: without {short}")
                    }
                };
                asked.without = without;
                line
            }
            Err(error) => {
                let short = output::cut(&error, MAX_WORDS);
                let line = format!("✗ {which}, after {seconds:.1} s: {short}");
                self.failed.push(task.to_owned());
                if let Some(asked) = self.asked.get_mut(task) {
                    asked.error = Some(error);
                }
                line
            }
        })
    }

    fn piece(&mut self, update: &TaskArtifactUpdateEvent) -> Vec<Show> {
        let artifact = update.artifact.as_ref();
        let Some(artifact) = artifact.filter(|a| a.artifact_id == ANSWER_ARTIFACT) else {
            return Vec::new();
        };
        let text = artifact.text();
        let mut shows = Vec::new();
        if !update.append && !std::mem::take(&mut self.pieces).is_empty() {
            shows.push(Show::Anew);
        }
        if !text.is_empty() {
            self.pieces.push_str(&text);
            shows.push(Show::Piece(text));
        }
        shows
    }
}

/// Parts that a partial answer lacks, and why.
fn without(partial: &Value) -> Vec<(String, String)> {
    let failed = partial.as_array().into_iter().flatten();
    let text = |failed: &Value, key: &str| failed[key].as_str().unwrap_or_default().to_owned();
    failed
        .map(|failed| (text(failed, "name"), text(failed, "error")))
        .collect()
}

/// A value on one line, cut.
fn words(value: &Value) -> String {
    output::cut(&whole(value), MAX_WORDS)
}

/// A value as text.
fn whole(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
