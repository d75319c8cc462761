//! Orphaned tasks: nobody waits for their result, because the task on whose behalf they were requested has ended
//! without one. They are cancelled.
//!
//! An agent itself recalls the tasks that it delegated. One that is gone or has failed does not.

use std::collections::VecDeque;

use agenthub_proto::a2a::TaskState;

use super::core::{Core, Now};
use crate::{
    id::{AgentId, TaskId},
    tasks::{Known, Tasks},
};

/// Ended parent tasks, each with the last orphan that was cancelled.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    parents: VecDeque<(TaskId, Option<TaskId>)>,
}

impl Orphans {
    /// Orphans left by the previous run of the hub.
    pub(super) fn left(tasks: &Tasks) -> Self {
        let parents = tasks.ended_parents().map(|id| (id.clone(), None));
        Self {
            parents: parents.collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }
}

/// True if a task is cancelled with its parent: it was requested by this requester, the parent's assignee. Tasks that
/// others requested on its behalf are theirs, and a completed task may leave others in progress.
fn is_called_back(parent: Known<'_>, requester: &AgentId) -> bool {
    let is_without_result = matches!(
        parent.state(),
        TaskState::Failed | TaskState::Cancelled | TaskState::Rejected
    );
    is_without_result && parent.assignee() == Some(requester)
}

impl Core {
    /// Handles the end of a task.
    pub(super) fn note_orphans(&mut self, task: &str) {
        if self.state.tasks.has_open_children(task) {
            self.orphans.parents.push_back((task.into(), None));
        }
    }

    /// Cancels at most `limit` orphans.
    pub(crate) fn call_back_orphans(&mut self, limit: usize, now: Now) {
        let Some((parent, behind)) = self.orphans.parents.pop_front() else {
            return;
        };
        let tasks = &self.state.tasks;
        let children = tasks.open_children(&parent, behind.as_ref(), limit);
        let Some(known) = tasks.get(&parent) else {
            return;
        };
        let reason = format!(
            "the task on whose behalf it was asked for is {}",
            known.state().label()
        );
        let is_left = |child: &&TaskId| {
            let child = tasks.get(child);
            child.is_some_and(|child| is_called_back(known, child.requester()))
        };
        let left: Vec<TaskId> = children.iter().filter(is_left).cloned().collect();
        if children.len() == limit {
            let next = (parent, children.last().cloned());
            self.orphans.parents.push_front(next);
        }
        for child in left {
            tracing::debug!(%child, reason, "a task is called back that nobody waits for");
            // Nobody waits for its end.
            drop(self.cancel(&child, &reason, now));
        }
    }
}
