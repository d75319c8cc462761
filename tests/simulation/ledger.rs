//! What was seen in a simulated world, by whom and when.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use agenthub_sdk::proto::a2a::TaskState;

/// Something that a participant saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The simulator did this.
    Fault(String),
    /// A hub started, so many times before.
    HubStarted(u32),
    /// A hub took a delegation.
    Accepted { task: String },
    /// A worker's process has a connection, for the first time or again.
    Connected { process: String },
    /// A handler was called.
    Begun {
        task: String,
        context: String,
        process: String,
        attempt: u32,
    },
    /// A handler came to its end.
    Done { task: String, process: String },
    /// A requester got an outcome.
    Outcome {
        task: String,
        state: TaskState,
        text: String,
        artifacts: usize,
    },
    /// A requester got none.
    NoOutcome { task: String, error: String },
    /// A participant saw what must not be.
    Wrong(String),
}

impl Seen {
    /// The task that it is about.
    pub(crate) fn task(&self) -> Option<&str> {
        match self {
            Self::Accepted { task }
            | Self::Begun { task, .. }
            | Self::Done { task, .. }
            | Self::Outcome { task, .. }
            | Self::NoOutcome { task, .. } => Some(task),
            Self::Fault(_) | Self::HubStarted(_) | Self::Connected { .. } | Self::Wrong(_) => None,
        }
    }
}

/// What the hub says once all is calm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Task, state, text of its artifacts.
    pub(crate) tasks: Vec<(String, TaskState, Vec<String>)>,
    /// Agent and its online instances.
    pub(crate) agents: Vec<(String, Vec<String>)>,
    /// Agents that a directory which was kept all the time calls present.
    pub(crate) present: Vec<String>,
    /// Mailboxes with mail, waiting or out.
    pub(crate) mail: Vec<(String, u64, u64)>,
    pub(crate) dead_letters: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) entries: Vec<(Duration, Seen)>,
    pub(crate) report: Option<Report>,
    /// What is expected of each delegation, in the order in which they were made.
    pub(crate) expected: Vec<Expected>,
    /// The processes of workers that run.
    pub(crate) running: Vec<String>,
    now: Duration,
    processes: u32,
}

/// A delegation and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) task: String,
    pub(crate) context: String,
    pub(crate) agent: &'static str,
    pub(crate) fails: bool,
}

/// The book of one world; clones are the same book.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

impl Ledger {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().expect("nobody panics with the book in hand")
    }

    pub(crate) fn advance_to(&self, now: Duration) {
        self.book().now = now;
    }

    pub(crate) fn note(&self, seen: Seen) {
        let mut book = self.book();
        let now = book.now;
        book.entries.push((now, seen));
    }

    pub(crate) fn expect(&self, expected: Expected) {
        self.book().expected.push(expected);
    }

    /// A host's process is gone.
    pub(crate) fn crashed(&self, host: &str) {
        self.book().running.retain(|p| host_of(p) != host);
    }

    /// The name of a process that starts on a host.
    pub(crate) fn process(&self, host: &str) -> String {
        let mut book = self.book();
        book.processes += 1;
        let name = format!("{host}.{}", book.processes);
        book.running.push(name.clone());
        name
    }
}

/// The host of a process.
pub(crate) fn host_of(process: &str) -> &str {
    process.split('.').next().unwrap_or_default()
}

impl fmt::Display for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, seen) in &self.entries {
            writeln!(f, "{:>9.3}s {seen:?}", at.as_secs_f64())?;
        }
        writeln!(f, "{:#?}", self.report)
    }
}
