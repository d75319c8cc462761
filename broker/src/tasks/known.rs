//! Read access to a task, live or settled.

use std::time::{Duration, SystemTime};

use agenthub_proto::{
    a2a::{Task, TaskState},
    agenthub::TaskExtent,
};
use prost::Message as _;

use super::{entry::Entry, settled::Row};
use crate::{behalf::Behalf, id::AgentId, log::Position, routing::Parties, task::Standing};

/// The task, see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    /// Live.
    Live(&'a Entry),
    /// Settled: nothing is accepted for it any more.
    Settled(&'a Row),
}

/// A task with its history, if in memory. Can be decoded without the lock.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Task(Box<Task>),
    Encoded(Box<[u8]>),
    /// In the log, under this number.
    Stored(u64),
}

impl Content {
    /// The task, unless it is only in the log.
    ///
    /// # Errors
    ///
    /// Its number there.
    pub(crate) fn task(self) -> Result<Task, u64> {
        match self {
            Self::Task(task) => Ok(*task),
            Self::Encoded(bytes) => Ok(Task::decode(&*bytes).expect("it was encoded by this hub")),
            Self::Stored(number) => Err(number),
        }
    }
}

impl<'a> Known<'a> {
    pub(crate) fn state(self) -> TaskState {
        match self {
            Self::Live(entry) => entry.state(),
            Self::Settled(row) => row.state,
        }
    }

    /// Extent of its result.
    pub(super) fn extent(self) -> TaskExtent {
        match self {
            Self::Live(entry) => entry.extent,
            Self::Settled(row) => row.extent,
        }
    }

    pub(crate) fn is_terminal(self) -> bool {
        self.state().is_terminal()
    }

    pub(crate) fn requester(self) -> &'a AgentId {
        match self {
            Self::Live(entry) => &entry.parties.0,
            Self::Settled(row) => &row.requester,
        }
    }

    pub(crate) fn assignee(self) -> Option<&'a AgentId> {
        match self {
            Self::Live(entry) => entry.parties.1.as_ref(),
            Self::Settled(row) => row.assignee.as_ref(),
        }
    }

    /// Position of the publish that created it, if known.
    pub(crate) fn made_at(self) -> Option<Position> {
        let made_by = match self {
            Self::Live(entry) => entry.made_by,
            Self::Settled(row) => row.made_by,
        };
        made_by.map(|(_, seen)| seen.position)
    }

    /// Position of its last change, if known; 0 if that was before the start of the process.
    pub(crate) fn changed_at(self) -> Option<Position> {
        match self {
            Self::Live(entry) => Some(entry.changed_at),
            Self::Settled(_) => None,
        }
    }

    pub(crate) fn parties(self) -> Parties {
        Parties {
            requester: self.requester().clone(),
            assignee: self.assignee().cloned(),
        }
    }

    pub(crate) fn task_type(self) -> &'a str {
        match self {
            Self::Live(entry) => &entry.task_type,
            Self::Settled(row) => row.task_type(),
        }
    }

    pub(crate) fn context(self) -> &'a str {
        match self {
            Self::Live(entry) => entry.context(),
            Self::Settled(row) => row.context(),
        }
    }

    /// Bytes of its history and artifacts.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Live(entry) => entry.bytes,
            Self::Settled(row) => row.bytes as usize,
        }
    }

    /// Approximate size in an answer.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Live(entry) => entry.weight(),
            Self::Settled(row) => row.content_len(),
        }
    }

    /// On whose behalf it was asked for, if known.
    pub(crate) fn behalf(self) -> Option<&'a Behalf> {
        match self {
            Self::Live(entry) => entry.behalf.as_deref(),
            Self::Settled(_) => None,
        }
    }

    /// The principal on whose behalf it was asked for, as the hub has it; empty if nobody is known.
    pub(crate) fn initiator(self) -> &'a str {
        match self {
            Self::Live(entry) => entry.initiator(),
            Self::Settled(row) => row.initiator(),
        }
    }

    /// The task itself.
    pub(crate) fn content(self) -> Content {
        match self {
            Self::Live(entry) => entry.content(),
            Self::Settled(row) => row.content(),
        }
    }

    /// The state that [`crate::task`] decides on.
    pub(crate) fn standing(self, now: SystemTime, late_artifacts: Duration) -> Standing {
        Standing {
            state: self.state(),
            parties: self.parties(),
            is_fresh: self.is_fresh(now, late_artifacts),
        }
    }

    /// True if updates for it are still accepted.
    pub(crate) fn can_change(self, now: SystemTime, late_artifacts: Duration) -> bool {
        !self.is_terminal() || self.is_fresh(now, late_artifacts)
    }

    fn is_fresh(self, now: SystemTime, late_artifacts: Duration) -> bool {
        match self {
            Self::Live(entry) => entry.is_fresh(now, late_artifacts),
            Self::Settled(_) => false,
        }
    }
}

/// A task with its latest `history` messages: 0 means all, negative none.
pub(crate) fn with_history(mut task: Task, history: i32) -> Task {
    match usize::try_from(history) {
        Ok(0) => {}
        Ok(n) => {
            let surplus = task.history.len().saturating_sub(n);
            task.history.drain(..surplus);
        }
        Err(_) => task.history.clear(),
    }
    task
}
