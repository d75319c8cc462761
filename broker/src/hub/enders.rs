//! The instance that ended a task: only it may send late artifacts. Not kept across restarts.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Body,
    core::{Core, Now},
};
use crate::{
    Error,
    id::{AgentId, InstanceId, SessionId, TaskId},
    steps::step,
    upkeep::SettledTasks,
};

/// The map, see the module.
#[derive(Debug, Default)]
pub(super) struct Enders {
    by_task: HashMap<TaskId, (AgentId, InstanceId)>,
    /// In the order of insertion.
    noted: VecDeque<(Instant, TaskId)>,
}

impl Enders {
    fn note(&mut self, task: &str, agent: &AgentId, instance: &InstanceId, now: Instant) {
        if let Entry::Vacant(new) = self.by_task.entry(task.into()) {
            self.noted.push_back((now, new.key().clone()));
            new.insert((agent.clone(), instance.clone()));
        }
    }

    fn check(&self, task: &str, agent: &AgentId, instance: &InstanceId) -> Result<(), Error> {
        match self.by_task.get(task) {
            Some((a, i)) if a == agent && i != instance => Err(Error::Aborted(format!(
                "superseded: instance \"{i}\" of \"{agent}\" has ended task \"{task}\""
            ))),
            _ => Ok(()),
        }
    }

    /// Removes entries older than `late`.
    fn forget(&mut self, late: Duration, now: Instant) {
        let is_over = |(at, _): &mut (Instant, TaskId)| now.duration_since(*at) > late;
        while let Some((_, task)) = self.noted.pop_front_if(is_over) {
            step();
            self.by_task.remove(&task);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_task.len().max(self.noted.len())
    }
}

/// The task that this update ends.
pub(super) fn ended(body: &Body) -> Option<TaskId> {
    let Body::Status(update) = body else {
        return None;
    };
    let is_end = update
        .status
        .as_ref()
        .is_some_and(|s| s.state().is_terminal());
    is_end.then(|| update.task_id.as_str().into())
}

impl Core {
    /// Checks that a stream's instance may still send for a task.
    ///
    /// # Errors
    ///
    /// [`Error::FailedPrecondition`] if another instance has or has ended the task.
    pub(super) fn check_lease(&self, session: SessionId, task: &str) -> Result<(), Error> {
        let Some((agent, instance)) = self.sessions.peer(session) else {
            return Ok(());
        };
        self.state.superseded.check(task, agent, instance)?;
        self.enders.check(task, agent, instance)
    }

    /// Records that a stream's instance has ended a task.
    pub(super) fn note_ender(&mut self, session: SessionId, task: &str, now: Now) {
        if let Some((agent, instance)) = self.sessions.peer(session) {
            self.enders.note(task, agent, instance, now.instant);
        }
    }

    /// Progress of settling tasks.
    pub(super) fn settled_tasks(&self) -> SettledTasks {
        SettledTasks {
            upto: self.state.tasks.settled_upto(),
            position: self.last(),
        }
    }

    /// Removes settled tasks from the lists of superseded and ending instances.
    pub(super) fn forget_superseded(&mut self, now: Now) {
        let late = self.settings.late_artifacts;
        self.enders.forget(late, now.instant);
        for task in self.state.tasks.settle(late, now.time) {
            // A forgotten id may have been reused for an open task.
            let known = self.state.tasks.get(&task);
            if known.is_none_or(|t| !t.can_change(now.time, late)) {
                self.state.superseded.forget(&task);
            }
        }
    }
}
