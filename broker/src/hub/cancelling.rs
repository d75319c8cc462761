//! Tasks that are cancelled while an agent works on them: they end when the agent confirms that it has stopped.

use std::collections::HashMap;

use agenthub_proto::a2a::TaskState;
use tokio::{sync::oneshot, time::Instant};

use super::core::{Core, Now};
use crate::id::TaskId;

/// The tasks whose agents were told to stop.
#[derive(Debug, Default)]
pub(crate) struct Cancelling {
    wishes: HashMap<TaskId, Wish>,
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
    pub(crate) fn ended(&mut self, task: &TaskId) {
        self.wishes.remove(task);
    }
}

impl Core {
    /// Cancels a task. One that an agent is at work on, over a lifeline on which it can be told, goes on until the agent reports an
    /// end, [`cancel_grace`](crate::Settings::cancel_grace) at most; what is returned completes then. Every other task ends at once.
    pub(crate) fn cancel(&mut self, task: &TaskId, reason: &str, now: Now) -> Option<Stopped> {
        let entry = self.state.tasks.get(task)?;
        let is_at_work = entry.task().state() == TaskState::Working
            && entry
                .assignee()
                .is_some_and(|a| self.sessions.has_lifeline(a));
        if !is_at_work {
            self.end_task(task, TaskState::Cancelled, reason, now);
            return None;
        }
        if !self.cancelling.wishes.contains_key(task) {
            self.stop_work(task, reason);
        }
        let (waiting, stopped) = oneshot::channel();
        let due = now.instant + self.settings.cancel_grace;
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

    /// Ends the tasks whose agents have not confirmed in time, and forgets those that have ended.
    pub(crate) fn end_unconfirmed(&mut self, now: Now) {
        let tasks = &self.state.tasks;
        let is_open = |task: &TaskId| tasks.get(task).is_some_and(|t| !t.is_terminal());
        self.cancelling.wishes.retain(|task, _| is_open(task));
        let due: Vec<(TaskId, String)> = self
            .cancelling
            .wishes
            .iter()
            .filter(|(_, wish)| wish.due <= now.instant)
            .map(|(task, wish)| (task.clone(), wish.reason.clone()))
            .collect();
        for (task, reason) in due {
            tracing::warn!(%task, "a cancelled task's agent has not confirmed that it stopped");
            self.end_task(&task, TaskState::Cancelled, &reason, now);
            self.cancelling.ended(&task);
        }
    }
}
