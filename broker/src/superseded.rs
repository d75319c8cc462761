//! Which instances have lost a task's message to another one, because their lease ran out: what they still send for that task is
//! refused. A fold of the log.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_proto::agenthub::agent_event::Payload;

use crate::{
    Error,
    id::{AgentId, InstanceId, TaskId},
    mailbox::HandOver,
    steps::step,
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

    /// Forgets a task that nobody can send anything for any more.
    pub(crate) fn forget(&mut self, task: &TaskId) {
        step();
        let first = (task.clone(), AgentId::from(""));
        let of_task = self.lost.range(first..).map(|(key, _)| key);
        let keys: Vec<_> = of_task.take_while(|(t, _)| t == task).cloned().collect();
        for key in keys {
            self.lost.remove(&key);
        }
    }

    /// Forgets all tasks but these.
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
