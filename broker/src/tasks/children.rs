//! Open child tasks, by the parent on whose behalf they were requested.

use super::Tasks;
use crate::{id::TaskId, steps::step};

impl Tasks {
    /// Adds an open child task.
    pub(super) fn add_child(&mut self, parent: &TaskId, child: &TaskId) {
        let children = self.children.entry(parent.clone()).or_default();
        children.insert(child.clone());
    }

    /// Removes a child that has ended.
    pub(super) fn remove_child(&mut self, parent: &TaskId, child: &TaskId) {
        if let Some(children) = self.children.get_mut(parent) {
            children.remove(child);
            if children.is_empty() {
                self.children.remove(parent);
            }
        }
    }

    /// True if a task has open children.
    pub(crate) fn has_open_children(&self, parent: &str) -> bool {
        self.children.contains_key(parent)
    }

    /// The open children ordered by id, after a given one, at most `limit`.
    pub(crate) fn open_children(
        &self,
        parent: &TaskId,
        behind: Option<&TaskId>,
        limit: usize,
    ) -> Vec<TaskId> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = behind.map_or(Unbounded, Excluded);
        let children = self.children.get(parent).into_iter();
        let children = children.flat_map(|all| all.range::<TaskId, _>((from, Unbounded)));
        children.take(limit).inspect(|_| step()).cloned().collect()
    }

    /// Ended tasks with open children.
    pub(crate) fn ended_parents(&self) -> impl Iterator<Item = &TaskId> {
        let has_ended = |id: &&TaskId| self.get(id).is_some_and(|task| task.is_terminal());
        self.children.keys().filter(has_ended)
    }
}
