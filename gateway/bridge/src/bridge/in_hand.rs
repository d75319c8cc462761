//! Tasks that are in hand: each once at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as StdMutex, PoisonError, Weak},
};

use tokio::sync::Mutex;

/// Locks of tasks that are in hand, by their ids.
#[derive(Debug, Default)]
pub(super) struct InHand(StdMutex<HashMap<String, Weak<Mutex<()>>>>);

impl InHand {
    /// The lock of a task.
    pub(super) fn of(&self, task_id: &str) -> Arc<Mutex<()>> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = tasks.get(task_id).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        tasks.insert(task_id.to_owned(), Arc::downgrade(&lock));
        lock
    }
}
