//! Which instances have lost a task's message to another one, because their lease ran out: what they still send for that task is
//! refused. A fold of the log.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_proto::agenthub::agent_event::Payload;

use crate::{
    Error,
    id::{AgentId, InstanceId, TaskId},
    mailbox::HandOver,
};

/// See the module's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Superseded {
    lost: BTreeMap<(TaskId, AgentId), BTreeSet<InstanceId>>,
}

impl Superseded {
    /// A task's message has gone from one instance to another. Returns who has lost the task by then; `None` if it is no task's.
    pub(crate) fn hand_over(&self, change: &HandOver) -> Option<(TaskId, Vec<InstanceId>)> {
        let HandOver { mail, from, to } = change;
        let Some(Payload::Message(message)) = &mail.event.payload else {
            return None;
        };
        let task = Some(&message.task_id).filter(|id| !id.is_empty())?;
        let key = (TaskId::from(task.as_str()), mail.recipient.clone());
        let mut lost = self.lost.get(&key).cloned().unwrap_or_default();
        lost.insert(from.clone());
        lost.remove(to);
        Some((key.0, lost.into_iter().collect()))
    }

    /// Takes in who has lost a task.
    pub(crate) fn set(&mut self, task: &TaskId, agent: &AgentId, instances: &[InstanceId]) {
        let lost = instances.iter().cloned().collect();
        self.lost.insert((task.clone(), agent.clone()), lost);
    }

    /// Whether an instance has lost a task.
    ///
    /// # Errors
    ///
    /// [`Error::FailedPrecondition`] if it has.
    pub(crate) fn check(
        &self,
        task: &str,
        agent: &AgentId,
        instance: &InstanceId,
    ) -> Result<(), Error> {
        let lost = self.lost.get(&(task.into(), agent.clone()));
        if lost.is_some_and(|l| l.contains(instance)) {
            return Err(Error::FailedPrecondition(format!(
                "superseded: the lease of instance \"{instance}\" on task \"{task}\" ran out, and another instance of \"{agent}\" works on it"
            )));
        }
        Ok(())
    }

    /// Forgets the tasks that nobody can send anything for any more.
    pub(crate) fn retain(&mut self, can_change: impl Fn(&TaskId) -> bool) {
        self.lost.retain(|(task, _), _| can_change(task));
    }

    /// Task, agent and instances.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&TaskId, &AgentId, Vec<InstanceId>)> {
        self.lost
            .iter()
            .map(|((task, agent), lost)| (task, agent, lost.iter().cloned().collect()))
    }
}
