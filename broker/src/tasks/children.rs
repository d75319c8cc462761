//! The open tasks that were asked for on behalf of others, by those others.

use super::Tasks;
use crate::{id::TaskId, steps::step};

impl Tasks {
    /// An open task was asked for on behalf of another one.
    pub(super) fn add_child(&mut self, parent: &TaskId, child: &TaskId) {
        let children = self.children.entry(parent.clone()).or_default();
        children.insert(child.clone());
    }

    /// It has ended.
    pub(super) fn remove_child(&mut self, parent: &TaskId, child: &TaskId) {
        if let Some(children) = self.children.get_mut(parent) {
            children.remove(child);
            if children.is_empty() {
                self.children.remove(parent);
            }
        }
    }

    /// Whether open tasks were asked for on behalf of this one.
    pub(crate) fn has_open_children(&self, parent: &str) -> bool {
        self.children.contains_key(parent)
    }

    /// These tasks, in order of their ids, from behind one of them on, at most so many.
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

    /// The tasks that have ended before others that were asked for on their behalf.
    pub(crate) fn ended_parents(&self) -> impl Iterator<Item = &TaskId> {
        let has_ended = |id: &&TaskId| self.get(id).is_some_and(|task| task.is_terminal());
        self.children.keys().filter(has_ended)
    }
}
