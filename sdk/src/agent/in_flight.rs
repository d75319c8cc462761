//! The deliveries in hand, and how each is told to stop.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use tokio_util::sync::CancellationToken;

/// The reason why a handler is to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The hub says that the task was cancelled or has ended.
    Cancelled(String),
    /// The task's deadline has passed.
    Deadline,
    /// The hub restarted and no longer knows the task.
    Lost,
    /// The agent stops; others shall do it.
    Stopping,
}

impl std::fmt::Display for StopReason {
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
pub(crate) struct StopSignal {
    pub(crate) token: CancellationToken,
    why: OnceLock<StopReason>,
}

impl StopSignal {
    /// Says stop. The first reason stays.
    pub(crate) fn stop(&self, why: StopReason) {
        // An error says that there is a reason already.
        let _ = self.why.set(why);
        self.token.cancel();
    }

    /// The reason to stop, if there is one.
    pub(crate) fn why(&self) -> Option<&StopReason> {
        self.why.get()
    }
}

/// Every delivery in hand, by its task.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    by_task: Mutex<HashMap<String, Vec<Arc<StopSignal>>>>,
}

/// One delivery in hand; it no longer is when this is dropped.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    in_flight: Arc<InFlight>,
    task_id: String,
    pub(crate) signal: Arc<StopSignal>,
}

impl InFlight {
    /// Takes a delivery in hand; `task_id` is empty if it has none.
    pub(crate) fn take(in_flight: &Arc<Self>, task_id: &str) -> InFlightGuard {
        let signal = Arc::new(StopSignal::default());
        let mut by_task = in_flight
            .by_task
            .lock()
            .expect("no panic while it is locked");
        by_task
            .entry(task_id.to_owned())
            .or_default()
            .push(Arc::clone(&signal));
        InFlightGuard {
            in_flight: Arc::clone(in_flight),
            task_id: task_id.to_owned(),
            signal,
        }
    }

    /// The tasks in hand.
    pub(super) fn tasks(&self) -> Vec<String> {
        let by_task = self.by_task.lock().expect("no panic while it is locked");
        let tasks = by_task.keys().filter(|task_id| !task_id.is_empty());
        tasks.cloned().collect()
    }

    /// True if anything of a task is in hand.
    pub(super) fn has(&self, task_id: &str) -> bool {
        let by_task = self.by_task.lock().expect("no panic while it is locked");
        by_task.contains_key(task_id)
    }

    /// Stops everything of one task.
    pub(crate) fn cancel(&self, task_id: &str, reason: &str) {
        if task_id.is_empty() {
            return;
        }
        let by_task = self.by_task.lock().expect("no panic while it is locked");
        for signal in by_task.get(task_id).into_iter().flatten() {
            signal.stop(StopReason::Cancelled(reason.to_owned()));
        }
    }

    /// The hub has lost its memory: nobody waits for these any more.
    pub(crate) fn lose_all(&self) {
        self.stop_all(&StopReason::Lost);
    }

    /// Stops everything.
    pub(crate) fn stop_all(&self, why: &StopReason) {
        let by_task = self.by_task.lock().expect("no panic while it is locked");
        for (task_id, signals) in by_task.iter() {
            tracing::warn!(task_id, %why, "stopping the handler");
            signals.iter().for_each(|signal| signal.stop(why.clone()));
        }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut by_task = self
            .in_flight
            .by_task
            .lock()
            .expect("no panic while it is locked");
        if let Some(signals) = by_task.get_mut(&self.task_id) {
            signals.retain(|signal| !Arc::ptr_eq(signal, &self.signal));
            if signals.is_empty() {
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
        let in_flight = Arc::new(InFlight::default());
        let [a, b] = ["a", "b"].map(|task| InFlight::take(&in_flight, task));
        in_flight.cancel("a", "changed my mind");
        assert_eq!(
            a.signal.why(),
            Some(&StopReason::Cancelled("changed my mind".into()))
        );
        assert!(a.signal.token.is_cancelled() && !b.signal.token.is_cancelled());

        in_flight.lose_all();
        assert_eq!(b.signal.why(), Some(&StopReason::Lost));
        drop((a, b));
        assert!(in_flight.by_task.lock().is_ok_and(|tasks| tasks.is_empty()));
    }
}
