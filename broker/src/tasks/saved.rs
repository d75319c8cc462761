//! Tasks as a snapshot keeps them.

use std::time::SystemTime;

use agenthub_proto::a2a::Task;

use super::{Entry, Tasks};
use crate::{
    dedupe::{Fingerprint, Seen},
    id::{AgentId, TaskId},
};

/// One task, with what its events told besides.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Saved {
    pub(crate) task: Task,
    pub(crate) requester: AgentId,
    pub(crate) assignee: Option<AgentId>,
    pub(crate) task_type: String,
    pub(crate) deadline: Option<SystemTime>,
    pub(crate) ended_at: Option<SystemTime>,
    /// The publish that made it.
    pub(crate) made_by: Option<(Fingerprint, Seen)>,
    /// What its history and artifacts count for.
    pub(crate) bytes: usize,
    /// When it changed last, among all tasks.
    pub(crate) changed: u64,
}

impl Tasks {
    /// Everything that is kept: first what has ended, in that order, then what is open.
    pub(crate) fn saved(&self) -> impl Iterator<Item = Saved> {
        let ended = self.ended.iter().filter_map(|id| self.entries.get(id));
        let open = self.by_change.values();
        let open = open.filter_map(|id| self.entries.get(id));
        ended
            .chain(open.filter(|e| !e.is_terminal()))
            .map(|entry| Saved {
                task: entry.task.clone(),
                requester: entry.parties.0.clone(),
                assignee: entry.parties.1.clone(),
                task_type: entry.task_type.clone(),
                deadline: entry.deadline,
                ended_at: entry.ended_at,
                made_by: entry.made_by,
                bytes: entry.bytes,
                changed: entry.changed,
            })
    }

    /// How often tasks have changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Goes on counting changes from here.
    pub(crate) fn restore_changes(&mut self, changes: u64) {
        self.changes = changes;
    }

    /// Takes back what [`saved`](Self::saved) gave, in its order.
    pub(crate) fn restore(&mut self, saved: Saved) {
        let id = TaskId::from(saved.task.id.as_str());
        let entry = Entry {
            task: saved.task,
            parties: (saved.requester, saved.assignee),
            task_type: saved.task_type,
            deadline: saved.deadline,
            ended_at: saved.ended_at,
            made_by: saved.made_by,
            bytes: saved.bytes,
            changed: saved.changed,
        };
        self.bytes += entry.weight();
        self.by_change.insert(entry.changed, id.clone());
        if entry.is_terminal() {
            self.ended.push_back(id.clone());
            let ended_at = entry.ended_at.unwrap_or(SystemTime::UNIX_EPOCH);
            self.settling.push_back((ended_at, id.clone()));
        } else {
            if let Some(deadline) = entry.deadline {
                self.deadlines.insert((deadline, id.clone()));
            }
            if let Some(assignee) = entry.assignee().cloned() {
                self.open.entry(assignee).or_default().insert(id.clone());
            }
        }
        self.entries.insert(id, entry);
        self.make_room();
    }
}
