//! One task, as its events made it.

use std::time::{Duration, SystemTime};

use agenthub_proto::{
    a2a::{Task, TaskStatus},
    agenthub::TaskStatusUpdateEvent,
    json,
};
use prost::Message as _;

use crate::{
    dedupe::{Fingerprint, Seen},
    id::AgentId,
    log::Position,
    routing::Parties,
    task::Standing,
};

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(super) task: Task,
    pub(super) parties: (AgentId, Option<AgentId>),
    pub(super) task_type: String,
    pub(super) deadline: Option<SystemTime>,
    pub(super) ended_at: Option<SystemTime>,
    /// The publish that made it, known as long as the task is.
    pub(super) made_by: Option<(Fingerprint, Seen)>,
    pub(super) bytes: usize,
    /// Rises with every change of any task.
    pub(super) changed: u64,
}

impl Entry {
    /// The task without its history.
    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    pub(crate) fn parties(&self) -> Parties {
        Parties {
            requester: self.parties.0.clone(),
            assignee: self.parties.1.clone(),
        }
    }

    pub(crate) fn requester(&self) -> &AgentId {
        &self.parties.0
    }

    pub(crate) fn assignee(&self) -> Option<&AgentId> {
        self.parties.1.as_ref()
    }

    /// Where the publish that made it stands in the log, if that is known.
    pub(crate) fn made_at(&self) -> Option<Position> {
        self.made_by.map(|(_, seen)| seen.position)
    }

    pub(crate) fn task_type(&self) -> &str {
        &self.task_type
    }

    pub(crate) fn context(&self) -> &str {
        &self.task.context_id
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.task.state().is_terminal()
    }

    /// The size of its history and artifacts, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The standing that [`crate::task`] decides on.
    pub(crate) fn standing(&self, now: SystemTime, late_artifacts: Duration) -> Standing {
        Standing {
            state: self.task.state(),
            parties: self.parties(),
            is_fresh: self
                .ended_at
                .is_some_and(|at| now.duration_since(at).unwrap_or_default() <= late_artifacts),
        }
    }

    /// Whether somebody can still send something for it.
    pub(crate) fn can_change(&self, now: SystemTime, late_artifacts: Duration) -> bool {
        !self.is_terminal() || self.standing(now, late_artifacts).is_fresh
    }

    /// The task with the latest `history` messages: 0 is all, negative none.
    pub(crate) fn with_history(&self, history: i32) -> Task {
        let mut task = self.task.clone();
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

    /// What it counts for among all tasks, in bytes.
    pub(super) fn weight(&self) -> usize {
        /// Ids, indexes and the like.
        const OVERHEAD: usize = 512;
        let status = self.task.status.as_ref();
        OVERHEAD + self.bytes + status.map_or(0, TaskStatus::encoded_len)
    }

    /// Keeps what the task used, as its last status tells it, for who asks later.
    pub(super) fn note_usage(&mut self, last: &TaskStatusUpdateEvent) {
        /// A few numbers are shorter, in bytes.
        const LONGEST: usize = 256;
        let told = last.metadata.as_ref().and_then(|m| m.fields.get("usage"));
        if let Some(usage) = told.filter(|usage| usage.encoded_len() <= LONGEST) {
            let metadata = self.task.metadata.get_or_insert_default();
            metadata.fields.insert("usage".to_owned(), usage.clone());
        }
    }

    pub(super) fn set_metadata(&mut self, key: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let metadata = self.task.metadata.get_or_insert_default();
        metadata
            .fields
            .insert(key.to_owned(), json::to_value(&value.into()));
    }
}
