//! Tasks that are cancelled while an agent works on them: they end when the agent confirms that it has stopped.

use std::collections::{BTreeSet, HashMap};

use agenthub_proto::a2a::TaskState;
use tokio::{sync::oneshot, time::Instant};

use super::core::{Core, Now};
use crate::{id::TaskId, steps::step, tasks};

/// The tasks whose agents were told to stop.
#[derive(Debug, Default)]
pub(crate) struct Cancelling {
    wishes: HashMap<TaskId, Wish>,
    /// The same, by when they are due.
    due: BTreeSet<(Instant, TaskId)>,
}

/// Who is told when a task has ended.
pub(crate) type Stopped = oneshot::Receiver<()>;

#[derive(Debug)]
struct Wish {
    reason: String,
    /// When the task ends, confirmed or not.
    due: Instant,
    /// Told by being dropped.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Cancelling {
    /// A task has ended, however that came.
    pub(crate) fn ended(&mut self, task: &str) {
        if let Some((task, wish)) = self.wishes.remove_entry(task) {
            self.due.remove(&(wish.due, task));
        }
    }

    /// Whether the agent of a task has not confirmed in time.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.due.first().is_some_and(|(due, _)| *due <= now)
    }

    /// A task whose agent has not confirmed in time, and the reason for which it was cancelled.
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
    /// Cancels a task. One that an agent is at work on, over a lifeline on which it can be told, goes on until the agent reports an
    /// end, [`cancel_grace`](crate::Settings::cancel_grace) at most; what is returned completes then. Every other task ends at once.
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

    /// Whether an agent with a lifeline works on a task, or has its message and may have begun.
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

    /// Ends tasks whose agents have not confirmed in time, at most so many.
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
