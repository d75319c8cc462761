//! The part that a process has in the runs of its agent: all of it, writing them down, or the execution of one of them.

use std::sync::Arc;

use agenthub_runs::{RunId, RunOutcome};
use tokio::sync::{mpsc, watch};

/// Part of a process in the runs of its agent.
#[derive(Clone, Debug, Default)]
pub(super) enum Duty {
    /// Takes messages, writes their runs down and drives them.
    #[default]
    All,
    /// Takes messages and writes their runs down; executors drive them. Told of each run.
    Record(mpsc::Sender<RunId>),
    /// Drives one run, and takes no messages.
    Execute(Arc<Execution>),
}

/// The run of an executor.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) run: RunId,
    /// Name of its driver in the journal.
    pub(super) driver: String,
    /// The conversation of its message.
    pub(super) context: String,
    /// The reason why it is not to go on, if it is only to be ended.
    pub(super) give_up: Option<String>,
    pub(super) end: watch::Sender<Option<End>>,
}

/// End of an execution.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// The run is over.
    Over(RunOutcome),
    /// The run cannot be driven here, for this reason.
    Abandoned(String),
}

impl Execution {
    /// Notes the end. The first one stays.
    pub(super) fn ends(&self, end: End) {
        self.end.send_if_modified(|known| {
            let is_first = known.is_none();
            if is_first {
                *known = Some(end);
            }
            is_first
        });
    }
}

impl Duty {
    /// The run that this process executes, if it is an executor.
    pub(super) fn execution(&self) -> Option<&Arc<Execution>> {
        match self {
            Self::Execute(execution) => Some(execution),
            Self::All | Self::Record(_) => None,
        }
    }

    /// Told of runs that are written down, where others drive them.
    pub(super) fn recorder(&self) -> Option<&mpsc::Sender<RunId>> {
        match self {
            Self::Record(recorded) => Some(recorded),
            Self::All | Self::Execute(_) => None,
        }
    }
}
