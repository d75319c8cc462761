//! Observations in a simulated world: observer, event and time.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use agenthub_sdk::proto::a2a::TaskState;

/// An observation of a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// A fault of the simulator.
    Fault(String),
    /// A hub started, for the n-th time.
    HubStarted(u32),
    /// The hub accepted a delegation.
    Accepted { task: String },
    /// A worker's process connected or reconnected.
    Connected { process: String },
    /// A handler began.
    Begun {
        task: String,
        context: String,
        process: String,
        attempt: u32,
    },
    /// A handler ended.
    Done { task: String, process: String },
    /// A requester got an outcome.
    Outcome {
        task: String,
        state: TaskState,
        text: String,
        artifacts: usize,
    },
    /// A requester got an error.
    NoOutcome { task: String, error: String },
    /// A participant saw a violation.
    Wrong(String),
}

impl Observation {
    /// Its task.
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

/// The hub's state at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Task, state, text of its artifacts.
    pub(crate) tasks: Vec<(String, TaskState, Vec<String>)>,
    /// Agent and its online instances.
    pub(crate) agents: Vec<(String, Vec<String>)>,
    /// Agents that are present in a continuously updated directory.
    pub(crate) present: Vec<String>,
    /// Mailboxes with mail, waiting or leased.
    pub(crate) mail: Vec<(String, u64, u64)>,
    pub(crate) dead_letters: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) entries: Vec<(Duration, Observation)>,
    pub(crate) report: Option<Report>,
    /// Expectation of each delegation, in order.
    pub(crate) expected: Vec<Expected>,
    /// Running processes of workers.
    pub(crate) running: Vec<String>,
    now: Duration,
    processes: u32,
}

/// A delegation and its expected outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) task: String,
    pub(crate) context: String,
    pub(crate) agent: &'static str,
    pub(crate) fails: bool,
}

/// The ledger of one world. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

impl Ledger {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().expect("nobody panics with the book in hand")
    }

    pub(crate) fn advance_to(&self, now: Duration) {
        self.book().now = now;
    }

    pub(crate) fn note(&self, seen: Observation) {
        let mut book = self.book();
        let now = book.now;
        book.entries.push((now, seen));
    }

    pub(crate) fn expect(&self, expected: Expected) {
        self.book().expected.push(expected);
    }

    /// Records the crash of a host's process.
    pub(crate) fn crashed(&self, host: &str) {
        self.book().running.retain(|p| host_of(p) != host);
    }

    /// Name of a new process on a host.
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
