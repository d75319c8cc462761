//! Tasks whose result nobody waits for any more, as the task on whose behalf they were asked for has ended without one: they are called back.
//!
//! An agent calls back itself what it has handed on. One that is gone, or that failed on the way, does not.

use std::collections::VecDeque;

use agenthub_proto::a2a::TaskState;

use super::core::{Core, Now};
use crate::{
    id::{AgentId, TaskId},
    tasks::{Known, Tasks},
};

/// The tasks that have ended so, each with the last one that was called back of those that were asked for on its behalf.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    parents: VecDeque<(TaskId, Option<TaskId>)>,
}

impl Orphans {
    /// Those that an earlier hub has left.
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

/// Whether a task is called back that was asked for by this requester on behalf of a task that has ended. What others have asked for in its name is
/// theirs, and who completes a task may leave others at work.
fn is_called_back(parent: Known<'_>, requester: &AgentId) -> bool {
    let is_without_result = matches!(
        parent.state(),
        TaskState::Failed | TaskState::Cancelled | TaskState::Rejected
    );
    is_without_result && parent.assignee() == Some(requester)
}

impl Core {
    /// A task has ended.
    pub(super) fn note_orphans(&mut self, task: &str) {
        if self.state.tasks.has_open_children(task) {
            self.orphans.parents.push_back((task.into(), None));
        }
    }

    /// Calls back what is left of tasks that have ended, at most so many.
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
            // Nobody waits for its end either.
            drop(self.cancel(&child, &reason, now));
        }
    }
}
