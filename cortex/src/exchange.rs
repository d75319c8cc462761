//! One request of a user and what has been done about it so far.

use std::collections::BTreeMap;

use agenthub_sdk::model::Usage;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{origin::Origin, outcome::TaskOutcome, prompt::Running, view::View};

/// A request as a conversation takes it in.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The user's words. Not blank, unless something is attached.
    pub(crate) words: String,
    /// Structured parts of the message.
    pub(crate) attached: Vec<Value>,
    pub(crate) message_id: String,
    pub(crate) origin: Origin,
    pub(crate) view: View,
    /// Ends the request without an answer.
    pub(crate) cancel: CancellationToken,
    pub(crate) done: oneshot::Sender<Ended>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this answer.
    Answered(String),
    /// Without one: why, in plain words for the user.
    Failed(String),
    /// It was cancelled.
    Cancelled,
}

/// A request at work.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) ask: Ask,
    /// Decisions so far.
    pub(crate) rounds: u32,
    /// What was said before the answer.
    pub(crate) answers: Vec<String>,
    /// What came back, in the order in which it was asked for.
    results: BTreeMap<usize, TaskOutcome>,
    /// What has not come back.
    running: BTreeMap<usize, Running>,
    pub(crate) usage: Usage,
}

impl Exchange {
    pub(crate) fn new(ask: Ask) -> Self {
        Self {
            ask,
            rounds: 0,
            answers: Vec::new(),
            results: BTreeMap::new(),
            running: BTreeMap::new(),
            usage: Usage::default(),
        }
    }

    /// Notes a task that is handed over, and numbers it.
    pub(crate) fn handed_over(&mut self, task: Running) -> usize {
        let number = self.results.len() + self.running.len();
        self.running.insert(number, task);
        number
    }

    /// Takes a result in. Returns whether it was the last that is waited for.
    pub(crate) fn returned(&mut self, number: usize, outcome: TaskOutcome) -> bool {
        self.running.remove(&number);
        self.results.insert(number, outcome);
        self.running.is_empty()
    }

    pub(crate) fn task(&self, number: usize) -> Option<&Running> {
        self.running.get(&number)
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Running> {
        self.running.values()
    }

    pub(crate) fn results(&self) -> Vec<TaskOutcome> {
        self.results.values().cloned().collect()
    }

    /// What came back, in words, one line each; empty if nothing did.
    pub(crate) fn plain_results(&self) -> String {
        let lines: Vec<String> = self.results.values().map(TaskOutcome::plain).collect();
        lines.join("\n")
    }
}
