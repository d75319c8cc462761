//! Tasks that are in hand: each once, however often it is delivered meanwhile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_bus::Delivery;

/// Latest deliveries of the tasks that are in hand, by their ids. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct InHand(Arc<Mutex<HashMap<String, Delivery>>>);

impl InHand {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Delivery>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a task in hand; none if it is already. Then the delivery takes the place of the one before, which is acknowledged: a task has one
    /// delivery out, the latest. An earlier one may be of a partition that has gone.
    pub(super) fn take(&self, task_id: &str, delivery: Delivery) -> Option<Task> {
        let before = self.lock().insert(task_id.to_owned(), delivery);
        if let Some(before) = before {
            before.acknowledge();
            return None;
        }
        Some(Task {
            in_hand: self.clone(),
            id: task_id.to_owned(),
            is_done: false,
        })
    }
}

/// A task that is in hand. Dropping it lets go of it, unacknowledged.
pub(super) struct Task {
    in_hand: InHand,
    id: String,
    is_done: bool,
}

impl Task {
    /// Lets go of it, and acknowledges it.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let latest = self.in_hand.lock().remove(&self.id);
        if self.is_done
            && let Some(latest) = latest
        {
            latest.acknowledge();
        }
    }
}
