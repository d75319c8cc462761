//! Superseded instances: they lost a task's message to another instance, because their lease expired, and their further
//! results for that task are refused. A fold of the log.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_proto::agenthub::agent_event::Payload;

use crate::{
    Error,
    id::{AgentId, InstanceId, TaskId},
    mailbox::HandOver,
    steps::step,
};

/// The instances, see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Superseded {
    lost: BTreeMap<(TaskId, AgentId), BTreeSet<InstanceId>>,
}

impl Superseded {
    /// Handles a task's message that went from one instance to another. Returns all instances that have lost the task;
    /// `None` if it has no task.
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

    /// Sets the instances that have lost a task.
    pub(crate) fn set(&mut self, task: &TaskId, agent: &AgentId, instances: &[InstanceId]) {
        let lost = instances.iter().cloned().collect();
        self.lost.insert((task.clone(), agent.clone()), lost);
    }

    /// Checks that an instance has not lost a task.
    ///
    /// # Errors
    ///
    /// [`Error::Aborted`] if it has.
    pub(crate) fn check(
        &self,
        task: &str,
        agent: &AgentId,
        instance: &InstanceId,
    ) -> Result<(), Error> {
        let lost = self.lost.get(&(task.into(), agent.clone()));
        if lost.is_some_and(|l| l.contains(instance)) {
            return Err(Error::Aborted(format!(
                "superseded: the lease of instance \"{instance}\" on task \"{task}\" ran out, and another instance of \"{agent}\" works on it"
            )));
        }
        Ok(())
    }

    /// Removes a task for which nothing is accepted any more.
    pub(crate) fn forget(&mut self, task: &TaskId) {
        step();
        let first = (task.clone(), AgentId::from(""));
        let of_task = self.lost.range(first..).map(|(key, _)| key);
        let keys: Vec<_> = of_task.take_while(|(t, _)| t == task).cloned().collect();
        for key in keys {
            self.lost.remove(&key);
        }
    }

    /// Keeps only tasks that satisfy the predicate.
    pub(crate) fn retain(&mut self, is_known: impl Fn(&TaskId) -> bool) {
        self.lost.retain(|(task, _), _| is_known(task));
    }

    /// Task, agent and instances.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&TaskId, &AgentId, Vec<InstanceId>)> {
        self.lost
            .iter()
            .map(|((task, agent), lost)| (task, agent, lost.iter().cloned().collect()))
    }
}
