//! Which instances have lost a task's message to another one, because their lease ran out: what they still send for that task is
//! refused.

use std::collections::{HashMap, HashSet};

use agenthub_proto::agenthub::agent_event::Payload;

use super::core::{Core, Now};
use crate::{
    Error,
    id::{AgentId, InstanceId, TaskId},
    mailbox::HandOver,
};

/// See the module's description. Of this hub's life only: leases are too.
#[derive(Debug, Default)]
pub(crate) struct Superseded {
    lost: HashMap<TaskId, HashSet<(AgentId, InstanceId)>>,
}

impl Superseded {
    /// A task's message has gone from one instance to another.
    pub(super) fn hand_over(&mut self, change: &HandOver) {
        let HandOver { mail, from, to } = change;
        let Some(Payload::Message(message)) = &mail.event.payload else {
            return;
        };
        if message.task_id.is_empty() {
            return;
        }
        let lost = self
            .lost
            .entry(message.task_id.as_str().into())
            .or_default();
        lost.insert((mail.recipient.clone(), from.clone()));
        lost.remove(&(mail.recipient.clone(), to.clone()));
    }

    /// Whether an instance has lost a task.
    pub(super) fn check(
        &self,
        task: &str,
        agent: &AgentId,
        instance: &InstanceId,
    ) -> Result<(), Error> {
        let lost = self.lost.get(task);
        if lost.is_some_and(|l| l.contains(&(agent.clone(), instance.clone()))) {
            return Err(Error::FailedPrecondition(format!(
                "superseded: the lease of instance \"{instance}\" on task \"{task}\" ran out, and another instance of \"{agent}\" works on it"
            )));
        }
        Ok(())
    }
}

impl Core {
    /// Forgets who has lost tasks that nobody can send anything for any more.
    pub(super) fn forget_superseded(&mut self, now: Now) {
        let (tasks, late) = (&self.state.tasks, self.settings.late_artifacts);
        self.superseded.lost.retain(|task, _| {
            tasks
                .get(task)
                .is_some_and(|t| !t.is_terminal() || t.standing(now.time, late).is_fresh)
        });
    }
}
