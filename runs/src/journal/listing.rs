//! Lists of runs.

use serde::{Deserialize, Serialize};

use super::{JournalError, Summary};
use crate::{
    event::{RunEvent, RunOutcome},
    id::RunId,
};

/// Maximum runs per page.
pub(super) const LONGEST: usize = 1_000;

/// Filter of a list. The default is the latest 50 runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Owner.
    pub owner: Option<String>,
    /// Strategies; empty means all.
    pub strategies: Vec<String>,
    /// Conversation.
    pub thread: Option<String>,
    /// States; empty means all.
    pub states: Vec<State>,
    /// Only runs with an approval that is not decided.
    pub asks: bool,
    /// Only runs to which no other task led.
    pub top_only: bool,
    /// Only runs whose id begins with this.
    pub prefix: Option<String>,
    /// Runs before the one with this [`ListedRun::cursor`].
    pub before: Option<String>,
    /// Maximum runs, up to 1,000.
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            owner: None,
            strategies: Vec::new(),
            thread: None,
            states: Vec::new(),
            asks: false,
            top_only: false,
            prefix: None,
            before: None,
            limit: 50,
        }
    }
}

impl Filter {
    /// The number that the cursor encodes.
    pub(super) fn before_number(&self) -> Result<Option<u64>, JournalError> {
        let number = |cursor: &String| {
            let number = cursor.parse();
            number.map_err(|_| JournalError::Cursor(cursor.clone()))
        };
        self.before.as_ref().map(number).transpose()
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.min(LONGEST)
    }
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not ended.
    Working,
    /// Ended with a result.
    Completed,
    /// Ended with an error.
    Failed,
    /// Cancelled on request.
    Cancelled,
}

impl State {
    /// Name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Working,
            Self::Completed,
            Self::Failed,
            Self::Cancelled,
        ];
        all.into_iter().find(|state| state.as_str() == name)
    }

    /// State of the run after this event; `None` unless the event ends it.
    pub(super) fn after(event: &RunEvent) -> Option<Self> {
        match event {
            RunEvent::Ended { outcome, .. } => Some(Self::of(outcome)),
            _ => None,
        }
    }

    /// State of a run with this outcome.
    pub(super) fn of(outcome: &RunOutcome) -> Self {
        match outcome {
            RunOutcome::Completed { .. } => Self::Completed,
            RunOutcome::Failed { .. } => Self::Failed,
            RunOutcome::Cancelled { .. } => Self::Cancelled,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRun {
    /// Id.
    pub run: RunId,
    /// Owner.
    pub owner: String,
    /// Strategy.
    pub strategy: String,
    /// Conversation; may be empty.
    pub thread: String,
    /// State.
    pub state: State,
    /// Time of its start, in milliseconds since 1970.
    pub started_ms: u64,
    /// Time of its end, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// Sequence number of the last event.
    pub last: u64,
    /// Summary; `None` if the events cannot be decoded.
    pub summary: Option<Summary>,
    /// Stable position in the list, for [`Filter::before`].
    pub cursor: String,
}

/// Fields of the first event that lists show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) strategy: String,
    pub(super) thread: String,
    pub(super) started_ms: u64,
}

impl Heading {
    pub(super) fn of(first: &RunEvent) -> Self {
        match first {
            RunEvent::Started(started) => Self {
                strategy: started.strategy.clone(),
                thread: started.thread.clone(),
                started_ms: started.at_ms,
            },
            _ => Self::default(),
        }
    }
}
