//! The deliveries in hand, and how each is told to stop.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use tokio_util::sync::CancellationToken;

/// Why a handler is to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The hub says that the task was cancelled or has ended.
    Cancelled(String),
    /// The task's deadline has passed.
    Deadline,
    /// The hub restarted and no longer knows the task.
    Lost,
    /// The agent stops; others shall do it.
    Stopping,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cancelled(reason) if !reason.is_empty() => reason,
            Self::Cancelled(_) => "the task was cancelled",
            Self::Deadline => "the task's deadline has passed",
            Self::Lost => "the hub restarted and no longer knows the task",
            Self::Stopping => "the agent stops",
        })
    }
}

/// The stop signal of one delivery.
#[derive(Debug, Default)]
pub(crate) struct Halt {
    pub(crate) token: CancellationToken,
    why: OnceLock<Why>,
}

impl Halt {
    /// Says stop. The first reason stays.
    pub(crate) fn halt(&self, why: Why) {
        // An error says that there is a reason already.
        let _ = self.why.set(why);
        self.token.cancel();
    }

    /// Why to stop, if it is so.
    pub(crate) fn why(&self) -> Option<&Why> {
        self.why.get()
    }
}

/// Every delivery in hand, by its task.
#[derive(Debug, Default)]
pub(crate) struct Hands {
    by_task: Mutex<HashMap<String, Vec<Arc<Halt>>>>,
}

/// One delivery in hand; it no longer is when this is dropped.
#[derive(Debug)]
pub(crate) struct Hand {
    hands: Arc<Hands>,
    task_id: String,
    pub(crate) halt: Arc<Halt>,
}

impl Hands {
    /// Takes a delivery in hand; `task_id` is empty if it has none.
    pub(crate) fn take(hands: &Arc<Self>, task_id: &str) -> Hand {
        let halt = Arc::new(Halt::default());
        let mut by_task = hands.by_task.lock().expect("no panic while it is locked");
        by_task
            .entry(task_id.to_owned())
            .or_default()
            .push(Arc::clone(&halt));
        Hand {
            hands: Arc::clone(hands),
            task_id: task_id.to_owned(),
            halt,
        }
    }

    /// Stops everything of one task.
    pub(crate) fn cancel(&self, task_id: &str, reason: &str) {
        if task_id.is_empty() {
            return;
        }
        let by_task = self.by_task.lock().expect("no panic while it is locked");
        for halt in by_task.get(task_id).into_iter().flatten() {
            halt.halt(Why::Cancelled(reason.to_owned()));
        }
    }

    /// The hub has lost its memory: nobody waits for these any more.
    pub(crate) fn lose_all(&self) {
        self.halt_all(&Why::Lost);
    }

    /// Stops everything.
    pub(crate) fn halt_all(&self, why: &Why) {
        let by_task = self.by_task.lock().expect("no panic while it is locked");
        for (task_id, halts) in by_task.iter() {
            tracing::warn!(task_id, %why, "stopping the handler");
            halts.iter().for_each(|halt| halt.halt(why.clone()));
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        let mut by_task = self
            .hands
            .by_task
            .lock()
            .expect("no panic while it is locked");
        if let Some(halts) = by_task.get_mut(&self.task_id) {
            halts.retain(|halt| !Arc::ptr_eq(halt, &self.halt));
            if halts.is_empty() {
                by_task.remove(&self.task_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancellation_reaches_its_task_only() {
        let hands = Arc::new(Hands::default());
        let [a, b] = ["a", "b"].map(|task| Hands::take(&hands, task));
        hands.cancel("a", "changed my mind");
        assert_eq!(
            a.halt.why(),
            Some(&Why::Cancelled("changed my mind".into()))
        );
        assert!(a.halt.token.is_cancelled() && !b.halt.token.is_cancelled());

        hands.lose_all();
        assert_eq!(b.halt.why(), Some(&Why::Lost));
        drop((a, b));
        assert!(hands.by_task.lock().is_ok_and(|tasks| tasks.is_empty()));
    }
}
