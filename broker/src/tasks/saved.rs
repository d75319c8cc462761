//! Tasks in snapshots.

use std::time::SystemTime;

use agenthub_proto::{a2a::Task, agenthub::TaskExtent};
use prost::Message as _;

use super::{
    Tasks,
    entry::{self, Body, Entry, MadeBy},
    settled::Ended,
    status_order::Nanos,
};
use crate::{
    id::{AgentId, TaskId},
    log::Position,
};

/// A task with its additional state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Saved {
    pub(crate) task: Task,
    pub(crate) requester: AgentId,
    pub(crate) assignee: Option<AgentId>,
    pub(crate) task_type: String,
    pub(crate) deadline: Option<SystemTime>,
    pub(crate) ended_at: Option<SystemTime>,
    /// The publish that created it.
    pub(crate) made_by: Option<MadeBy>,
    /// Bytes of its history and artifacts.
    pub(crate) bytes: usize,
    /// Number of its last change.
    pub(crate) changed: u64,
}

impl Tasks {
    /// All tasks in memory, in the order of their last change.
    pub(crate) fn saved(&self) -> impl Iterator<Item = Saved> {
        let settled = self.settled.iter().filter_map(saved_row);
        let live = self.by_change.oldest_first();
        let live = live.filter_map(|id| self.live.get(id));
        settled.chain(live.map(|entry| Saved {
            task: entry.content().task().expect("it is in memory"),
            requester: entry.parties.0.clone(),
            assignee: entry.parties.1.clone(),
            task_type: entry.task_type.clone(),
            deadline: entry.deadline,
            ended_at: entry.ended_at,
            made_by: entry.made_by,
            bytes: entry.bytes,
            changed: entry.changed,
        }))
    }

    /// Number of changes.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Restores the number of changes.
    pub(crate) fn restore_changes(&mut self, changes: u64) {
        self.changes = changes;
    }

    /// Restores a task of [`saved`](Self::saved).
    pub(crate) fn restore(&mut self, saved: Saved) {
        let id = TaskId::from(saved.task.id.as_str());
        let parent = entry::parent(saved.task.metadata_str("parent_task_id"));
        let mut entry = Entry {
            parent,
            behalf: entry::behalf(&saved.task),
            status_at: Nanos::of_status(saved.task.status.as_ref()),
            extent: TaskExtent::of_task(&saved.task),
            body: Body::Open(Box::new(saved.task)),
            parties: (saved.requester, saved.assignee),
            task_type: saved.task_type,
            deadline: saved.deadline,
            ended_at: saved.ended_at,
            made_by: saved.made_by,
            bytes: saved.bytes,
            changed: saved.changed,
            changed_at: Position(0),
        };
        if entry.is_terminal() {
            entry.encode();
        } else {
            self.used.opened(entry.initiator());
            if let Some(deadline) = entry.deadline {
                self.deadlines.insert((deadline, id.clone()));
            }
            if let Some(assignee) = entry.parties.1.clone() {
                self.open.entry(assignee).or_default().insert(id.clone());
            }
            if let Some(parent) = &entry.parent {
                self.add_child(parent, &id);
            }
        }
        self.bytes += entry.weight();
        self.by_change.insert(&id, &entry);
        self.live.insert(id.clone(), entry);
        self.enter_order(&id);
        self.make_room();
    }

    /// The change up to which ended tasks are stored in segments.
    pub(crate) fn stored(&self) -> u64 {
        self.settled.stored()
    }

    /// Sets the change up to which ended tasks are stored in segments. Later ticks drop their contents from memory.
    pub(crate) fn set_stored(&mut self, changed: u64) {
        self.settled.set_stored(changed);
    }

    /// Restores a task of a segment, after all that changed before it.
    pub(crate) fn restore_ended(&mut self, ended: Ended) {
        self.settled.push(ended);
        self.make_room();
    }

    /// Takes all settled tasks, in the order of their last change.
    pub(crate) fn take_settled(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.settled).iter().collect()
    }
}

/// A settled task whose content is in memory.
fn saved_row(ended: Ended) -> Option<Saved> {
    let content = ended.content.ok()?;
    Some(Saved {
        task: Task::decode(&*content).expect("it was encoded by this hub"),
        requester: ended.requester,
        assignee: ended.assignee,
        task_type: ended.task_type,
        deadline: None,
        ended_at: Some(ended.ended_at),
        made_by: ended.made_by,
        bytes: ended.bytes as usize,
        changed: ended.changed,
    })
}
