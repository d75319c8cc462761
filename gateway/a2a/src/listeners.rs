//! Listeners to tasks, each to one.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_sdk::proto::agenthub::agent_event::Payload;
use tokio::sync::mpsc;

/// Events that wait for one listener; one that is slower is let go.
pub(crate) const WAITING: usize = 1024;

/// An event of a task.
#[derive(Debug)]
pub(crate) struct TaskEvent {
    pub(crate) position: String,
    pub(crate) payload: Payload,
}

/// Way to a listener, with its number.
type Numbered = (u64, mpsc::Sender<Arc<TaskEvent>>);

/// The listeners to all tasks.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Numbering>);

#[derive(Debug, Default)]
struct Numbering {
    by_task: HashMap<String, Vec<Numbered>>,
    /// Listeners so far.
    count: u64,
}

/// Listener to one task. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Listener {
    all: Arc<Listeners>,
    task_id: String,
    number: u64,
    events: mpsc::Receiver<Arc<TaskEvent>>,
}

impl Listeners {
    /// Listens to a task from here on.
    pub(crate) fn listen(self: &Arc<Self>, task_id: &str) -> Listener {
        let (sender, events) = mpsc::channel(WAITING);
        let mut all = self.lock();
        all.count += 1;
        let number = all.count;
        let listeners = all.by_task.entry(task_id.to_owned()).or_default();
        listeners.push((number, sender));
        Listener {
            all: Arc::clone(self),
            task_id: task_id.to_owned(),
            number,
            events,
        }
    }

    /// True if a task has listeners.
    pub(crate) fn has(&self, task_id: &str) -> bool {
        self.lock().by_task.contains_key(task_id)
    }

    /// True if no task has listeners.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().by_task.is_empty()
    }

    /// Hands an event to the listeners of its task. Those that are too slow are let go.
    pub(crate) fn hand_on(&self, task_id: &str, event: TaskEvent) {
        let mut all = self.lock();
        let Some(listeners) = all.by_task.get_mut(task_id) else {
            return;
        };
        let event = Arc::new(event);
        listeners.retain(|(_, sender)| sender.try_send(Arc::clone(&event)).is_ok());
        if listeners.is_empty() {
            all.by_task.remove(task_id);
        }
    }

    /// Lets all listeners go.
    pub(crate) fn clear(&self) {
        self.lock().by_task.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Numbering> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    /// The next event; `None` once it was let go. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Arc<TaskEvent>> {
        self.events.recv().await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Entry::Occupied(mut entry) = all.by_task.entry(std::mem::take(&mut self.task_id)) {
            entry.get_mut().retain(|(number, _)| *number != self.number);
            if entry.get().is_empty() {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::agenthub::TaskStatusUpdateEvent;

    use super::*;

    fn event(number: usize) -> TaskEvent {
        TaskEvent {
            position: format!("l-{number}"),
            payload: Payload::StatusUpdate(TaskStatusUpdateEvent::default()),
        }
    }

    #[tokio::test]
    async fn a_listener_that_is_too_slow_is_let_go_and_the_others_are_not() {
        let all = Arc::new(Listeners::default());
        let (mut slow, mut quick) = (all.listen("a"), all.listen("a"));
        for n in 0..=WAITING {
            all.hand_on("a", event(n));
            quick.next().await.expect("it gets it");
        }
        for _ in 0..WAITING {
            slow.next().await.expect("it waited");
        }
        assert!(slow.next().await.is_none());
        all.clear();
        assert!(quick.next().await.is_none());
    }

    #[tokio::test]
    async fn a_listener_gets_the_events_of_its_task_and_leaves_nothing() {
        let all = Arc::new(Listeners::default());
        let (mut one, other) = (all.listen("a"), all.listen("b"));
        all.hand_on("b", event(1));
        all.hand_on("a", event(2));
        assert_eq!(one.next().await.expect("one").position, "l-2");
        assert!(all.has("a") && all.has("b"));
        drop((one, other));
        assert!(all.is_empty());
    }
}
