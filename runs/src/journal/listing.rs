//! Which runs there are.

use serde::{Deserialize, Serialize};

use super::{Error, Summary};
use crate::{
    event::{RunEvent, RunOutcome},
    id::RunId,
};

/// The runs of one page at most.
pub(super) const LONGEST: usize = 1_000;

/// Which runs are wanted. The default is the latest 50.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Those of this owner.
    pub owner: Option<String>,
    /// Those of one of these strategies; none is any.
    pub strategies: Vec<String>,
    /// Those of this conversation.
    pub thread: Option<String>,
    /// Those in one of these states; none is any.
    pub states: Vec<State>,
    /// Those before the one with this [`Listed::cursor`].
    pub before: Option<String>,
    /// How many at most, up to 1,000.
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            owner: None,
            strategies: Vec::new(),
            thread: None,
            states: Vec::new(),
            before: None,
            limit: 50,
        }
    }
}

impl Filter {
    /// The number of the run before which those are that are wanted.
    pub(super) fn before_number(&self) -> Result<Option<u64>, Error> {
        let number = |cursor: &String| {
            let number = cursor.parse();
            number.map_err(|_| Error::Cursor(cursor.clone()))
        };
        self.before.as_ref().map(number).transpose()
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.min(LONGEST)
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is not over.
    Working,
    /// It has a result.
    Completed,
    /// It came to nothing.
    Failed,
    /// It was not wanted any more.
    Cancelled,
}

impl State {
    /// One word for it.
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

    /// In which state an event leaves its run; nothing unless it ends it.
    pub(super) fn after(event: &RunEvent) -> Option<Self> {
        match event {
            RunEvent::Ended { outcome, .. } => Some(Self::of(outcome)),
            _ => None,
        }
    }

    /// In which state a run is that has ended so.
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
pub struct Listed {
    /// Which.
    pub run: RunId,
    /// Whose.
    pub owner: String,
    /// What drives it.
    pub strategy: String,
    /// The conversation that it belongs to; empty where there is none.
    pub thread: String,
    /// How far it is.
    pub state: State,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// The place of its last event.
    pub last: u64,
    /// How it stands besides; none of a run whose events cannot be read.
    pub summary: Option<Summary>,
    /// Its place in the list, for [`Filter::before`]; it stays the same.
    pub cursor: String,
}

/// What the first event of a run says for lists.
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
