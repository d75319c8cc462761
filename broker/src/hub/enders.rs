//! Which instance has ended a task: late artifacts are that one's alone. Of this hub's life only.

use std::collections::HashMap;

use super::{
    Body,
    core::{Core, Now},
};
use crate::{
    Error,
    id::{AgentId, InstanceId, SessionId, TaskId},
};

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Enders(HashMap<TaskId, (AgentId, InstanceId)>);

impl Enders {
    fn note(&mut self, task: &str, agent: &AgentId, instance: &InstanceId) {
        let ender = || (agent.clone(), instance.clone());
        self.0.entry(task.into()).or_insert_with(ender);
    }

    fn check(&self, task: &str, agent: &AgentId, instance: &InstanceId) -> Result<(), Error> {
        match self.0.get(task) {
            Some((a, i)) if a == agent && i != instance => Err(Error::FailedPrecondition(format!(
                "superseded: instance \"{i}\" of \"{agent}\" has ended task \"{task}\""
            ))),
            _ => Ok(()),
        }
    }
}

/// The task that is ended by this.
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
    /// Whether what a stream's instance sends for a task still counts.
    ///
    /// # Errors
    ///
    /// [`Error::FailedPrecondition`] if another instance has the task, or has ended it.
    pub(super) fn check_lease(&self, session: SessionId, task: &str) -> Result<(), Error> {
        let Some((agent, instance)) = self.sessions.peer(session) else {
            return Ok(());
        };
        self.state.superseded.check(task, agent, instance)?;
        self.enders.check(task, agent, instance)
    }

    /// The instance of a stream has ended a task.
    pub(super) fn note_ender(&mut self, session: SessionId, task: &str) {
        if let Some((agent, instance)) = self.sessions.peer(session) {
            self.enders.note(task, agent, instance);
        }
    }

    /// Forgets who has lost or ended tasks that nobody can send anything for any more.
    pub(super) fn forget_superseded(&mut self, now: Now) {
        let (state, late) = (&mut self.state, self.settings.late_artifacts);
        let tasks = &state.tasks;
        let can_change = |task: &TaskId| {
            let task = tasks.get(task);
            task.is_some_and(|t| !t.is_terminal() || t.standing(now.time, late).is_fresh)
        };
        state.superseded.retain(can_change);
        self.enders.0.retain(|task, _| can_change(task));
    }
}
