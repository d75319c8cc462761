//! Cancellation of tasks in progress: they end when the agent confirms that it has stopped.

use std::collections::{BTreeSet, HashMap};

use agenthub_proto::a2a::TaskState;
use tokio::{sync::oneshot, time::Instant};

use super::core::{Core, Now};
use crate::{id::TaskId, steps::step, tasks};

/// Tasks whose agents were told to stop.
#[derive(Debug, Default)]
pub(crate) struct Cancelling {
    wishes: HashMap<TaskId, Wish>,
    /// The same, ordered by due time.
    due: BTreeSet<(Instant, TaskId)>,
}

/// Completes when a task has ended.
pub(crate) type Stopped = oneshot::Receiver<()>;

#[derive(Debug)]
struct Wish {
    reason: String,
    /// Time when the task ends without confirmation.
    due: Instant,
    /// Notified by being dropped.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Cancelling {
    /// Removes a task that has ended, for whatever reason.
    pub(crate) fn ended(&mut self, task: &str) {
        if let Some((task, wish)) = self.wishes.remove_entry(task) {
            self.due.remove(&(wish.due, task));
        }
    }

    /// True if an agent has not confirmed in time.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.due.first().is_some_and(|(due, _)| *due <= now)
    }

    /// A task whose agent has not confirmed in time, with the reason for its cancellation.
    fn overdue(&mut self, now: Instant) -> Option<(TaskId, String)> {
        let (_, task) = self.due.first().filter(|(due, _)| *due <= now)?;
        let task = task.clone();
        step();
        let reason = self.wishes.get(&task).map(|wish| wish.reason.clone());
        self.ended(&task);
        Some((task, reason?))
    }
}

impl Core {
    /// Cancels a task. If an agent works on it and has a lifeline, the task continues until the agent reports an end,
    /// for at most [`cancel_grace`](crate::Settings::cancel_grace); the returned receiver completes then. Other tasks
    /// end at once.
    pub(crate) fn cancel(&mut self, task: &TaskId, reason: &str, now: Now) -> Option<Stopped> {
        let is_at_work = self.is_at_work(self.state.tasks.get(task)?);
        if !is_at_work {
            self.end_task(task, TaskState::Cancelled, reason, now);
            return None;
        }
        let due = now.instant + self.settings.cancel_grace;
        if !self.cancelling.wishes.contains_key(task) {
            self.stop_work(task, reason);
            self.cancelling.due.insert((due, task.clone()));
        }
        let (waiting, stopped) = oneshot::channel();
        let wish = self.cancelling.wishes.entry(task.clone());
        let wish = wish.or_insert_with(|| Wish {
            reason: reason.to_owned(),
            due,
            waiting: Vec::new(),
        });
        wish.waiting.retain(|w| !w.is_closed());
        wish.waiting.push(waiting);
        Some(stopped)
    }

    /// True if an agent with a lifeline works on a task, or has its message and may have begun.
    fn is_at_work(&self, task: tasks::Known<'_>) -> bool {
        let Some(assignee) = task.assignee() else {
            return false;
        };
        let may_have_begun = match task.state() {
            TaskState::Working => true,
            TaskState::Submitted => task
                .made_at()
                .is_some_and(|position| self.state.mailboxes.is_out(assignee, position)),
            _ => false,
        };
        may_have_begun && self.sessions.has_lifeline(assignee)
    }

    /// Ends at most `limit` tasks whose agents have not confirmed in time.
    pub(crate) fn end_unconfirmed(&mut self, limit: usize, now: Now) {
        for _ in 0..limit {
            let Some((task, reason)) = self.cancelling.overdue(now.instant) else {
                return;
            };
            tracing::warn!(%task, "a cancelled task's agent has not confirmed that it stopped");
            self.end_task(&task, TaskState::Cancelled, &reason, now);
        }
    }
}
