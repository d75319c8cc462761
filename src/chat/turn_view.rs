//! View of a turn, folded from its frames.

use std::collections::BTreeMap;

use agenthub_proto::{
    a2a::{Message, Role, TaskState},
    agenthub::{TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    json,
};
use agenthub_sdk::{Error, Outcome, Update, internal::ANSWER_ARTIFACT};
use agenthub_terminal::partial::{self, Extent};
use serde_json::Value;

use super::{elsewhere::Asked, overheard::Piece};

/// The end of what an agent writes that is shown, in characters.
const MAX_TAIL: usize = 60;

/// Something to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// The work in hand, until something else is to see.
    Doing(String),
    /// The end of what an agent at work has written so far.
    Writing(String),
    /// Something that happened on the way.
    Note(String),
    /// An agent asks for a person's yes.
    Asks(Asked),
    /// The next piece of the answer.
    Text(String),
    /// The pieces so far are void.
    Void,
    /// The answer, whole. `shown` if the pieces so far are the same.
    Answer { text: String, shown: bool },
}

/// End of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With an answer of this extent.
    Answered(Extent),
    Failed(String),
    Cancelled,
}

/// State of a turn, as its frames show it.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The pieces of the answer that is growing.
    pieces: String,
    /// The last whole answer.
    answer: Option<String>,
    /// The agents at work, by task.
    busy: BTreeMap<String, Busy>,
    /// Whoever answers tells by frames what happens.
    has_frames: bool,
}

/// An agent at work.
#[derive(Debug)]
struct Busy {
    agent: String,
    /// The end of what it has written so far, in one line.
    tail: String,
}

impl View {
    /// The tasks at which agents work.
    pub(super) fn at_work(&self) -> impl Iterator<Item = &str> {
        self.busy.keys().map(String::as_str)
    }

    /// Takes in what an agent at work writes.
    pub(super) fn overhear(&mut self, piece: &Piece) -> Vec<Show> {
        let Some(busy) = self.busy.get_mut(&piece.task_id) else {
            return Vec::new();
        };
        if !piece.append {
            busy.tail.clear();
        }
        busy.tail
            .push_str(&piece.text.replace(char::is_whitespace, " "));
        let shown = busy.tail.char_indices().rev().nth(MAX_TAIL - 1);
        if let Some((start, _)) = shown {
            busy.tail.drain(..start);
        }
        one(Show::Writing, format!("{}: {}", busy.agent, busy.tail))
    }

    /// Takes an update in.
    pub(super) fn apply(&mut self, update: &Update) -> Vec<Show> {
        match update {
            Update::Status(status) => self.status(status),
            Update::Artifact(artifact) => self.piece(artifact),
            // The frames have the same messages, in the order of everything else.
            Update::Message(message) if !self.has_frames && message.role() == Role::Agent => {
                self.whole(message.text())
            }
            _ => Vec::new(),
        }
    }

    /// Takes the outcome in. `is_cancelled` if that was the user's wish.
    pub(super) fn end(
        &mut self,
        outcome: Result<Outcome, Error>,
        is_cancelled: bool,
    ) -> (Vec<Show>, End) {
        match outcome {
            Ok(outcome) if outcome.is_completed() || outcome.state.is_interrupted() => {
                let extent = Extent::of(partial::shortfall(&outcome).as_ref());
                let said = outcome.message.as_ref().map(Message::text);
                let text = said.filter(|s| !s.is_empty()).unwrap_or(outcome.text);
                let shows = match text.is_empty() && self.answer.is_none() {
                    true => self.whole("(an empty answer)".to_owned()),
                    false => self.whole(text),
                };
                (shows, End::Answered(extent))
            }
            Ok(outcome) => {
                let end = match (outcome.state, is_cancelled) {
                    (TaskState::Cancelled, true) => End::Cancelled,
                    _ => End::Failed(outcome.error),
                };
                (self.void(), end)
            }
            Err(_) if is_cancelled => (self.void(), End::Cancelled),
            Err(error) => (self.void(), End::Failed(said(&error))),
        }
    }

    fn status(&mut self, update: &TaskStatusUpdateEvent) -> Vec<Show> {
        let status = update.status.clone().unwrap_or_default();
        if status.state() != TaskState::Working {
            return Vec::new();
        }
        let metadata = update.metadata.as_ref().map(json::from_struct);
        let frame = metadata.as_ref().and_then(|m| m.get("frame"));
        let Some(frame) = frame else {
            return one(Show::Doing, status.text());
        };
        self.has_frames = true;
        match str_of(frame, "type") {
            "phase" if self.busy.is_empty() => one(Show::Doing, status.text()),
            "handoff" => self.handoff(frame, status.text()),
            "warning" => one(Show::Note, status.text()),
            "message" => self.whole(str_of(frame, "message").to_owned()),
            _ => Vec::new(),
        }
    }

    fn handoff(&mut self, frame: &Value, line: String) -> Vec<Show> {
        let data = &frame["data"];
        let task_id = str_of(data, "taskId");
        match str_of(frame, "message") {
            "occurred" => {
                let busy = Busy {
                    agent: str_of(data, "to").to_owned(),
                    tail: String::new(),
                };
                self.busy.insert(task_id.to_owned(), busy);
                self.doing().into_iter().collect()
            }
            "returned" => {
                self.busy.remove(task_id);
                let mut shows = one(Show::Note, line);
                shows.extend(self.doing());
                shows
            }
            _ => {
                let asked = Asked::read(&data["approval"]);
                asked.map_or_else(|| one(Show::Doing, line), |asked| vec![Show::Asks(asked)])
            }
        }
    }

    /// The agents at work.
    fn doing(&self) -> Option<Show> {
        let mut agents: Vec<&str> = self.busy.values().map(|b| b.agent.as_str()).collect();
        agents.dedup();
        let text = match agents.as_slice() {
            [] => return None,
            [agent] => format!("{agent} is working on it"),
            [others @ .., last] => format!("{} and {last} are working on it", others.join(", ")),
        };
        Some(Show::Doing(text))
    }

    fn piece(&mut self, update: &TaskArtifactUpdateEvent) -> Vec<Show> {
        let Some(artifact) = update
            .artifact
            .as_ref()
            .filter(|a| a.artifact_id == ANSWER_ARTIFACT)
        else {
            return Vec::new();
        };
        let mut shows = Vec::new();
        if !update.append {
            shows = self.void();
        }
        let text = artifact.text();
        self.pieces.push_str(&text);
        shows.extend(one(Show::Text, text));
        shows
    }

    fn void(&mut self) -> Vec<Show> {
        match std::mem::take(&mut self.pieces).is_empty() {
            true => Vec::new(),
            false => vec![Show::Void],
        }
    }

    /// An answer is complete. Nothing to see if it is the last one again.
    fn whole(&mut self, text: String) -> Vec<Show> {
        if text.is_empty() || self.answer.as_ref() == Some(&text) && self.pieces.is_empty() {
            return Vec::new();
        }
        self.answer = Some(text.clone());
        let rest = text.strip_prefix(&self.pieces).map(str::to_owned);
        let shown = !self.pieces.is_empty() && rest.is_some();
        let mut shows = match (shown, rest) {
            (true, Some(rest)) => {
                self.pieces.clear();
                one(Show::Text, rest)
            }
            _ => self.void(),
        };
        shows.push(Show::Answer { text, shown });
        shows
    }
}

fn one(show: impl Fn(String) -> Show, text: String) -> Vec<Show> {
    match text.is_empty() {
        true => Vec::new(),
        false => vec![show(text)],
    }
}

fn str_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The error in the words of somebody who asked something.
pub(super) fn said(error: &Error) -> String {
    match error {
        Error::Lost { .. } => {
            "the hub restarted and has forgotten this request: please ask again".to_owned()
        }
        Error::DeadlineExceeded { .. } => {
            "there was no answer in time; the request was cancelled".to_owned()
        }
        Error::Timeout(limit) => format!(
            "the hub did not take the request within {} s: ask again when it is back",
            limit.as_secs()
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "turn_view_tests.rs"]
mod tests;
