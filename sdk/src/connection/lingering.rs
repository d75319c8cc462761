//! Batches kept back for a moment, so that what a quick handler says of its task travels in one frame.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use super::link::Batch;

/// The longest time that a batch is kept back.
const LINGER: Duration = Duration::from_millis(5);

/// At most one batch of each task, oldest first. Bounded by the tasks in hand.
#[derive(Debug, Default)]
pub(super) struct Lingering {
    by_task: HashMap<String, (Instant, Batch)>,
    /// Sorted. An entry without its batch in `by_task` is void.
    due: VecDeque<(Instant, String)>,
}

impl Lingering {
    pub(super) fn len(&self) -> usize {
        self.by_task.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }

    /// Keeps the batch of a task back that has none here.
    pub(super) fn add(&mut self, task_id: String, batch: Batch, now: Instant) {
        let due = now + LINGER;
        self.due.push_back((due, task_id.clone()));
        self.by_task.insert(task_id, (due, batch));
    }

    /// The batch of a task.
    pub(super) fn take(&mut self, task_id: &str) -> Option<Batch> {
        self.by_task.remove(task_id).map(|(_, batch)| batch)
    }

    /// Time at which the next batch is due.
    pub(super) fn next(&mut self) -> Option<Instant> {
        while let Some((due, task_id)) = self.due.front() {
            if self.by_task.get(task_id).is_some_and(|(at, _)| at == due) {
                return Some(*due);
            }
            self.due.pop_front();
        }
        None
    }

    /// A batch that is due.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Batch> {
        self.next().filter(|due| *due <= now)?;
        let (_, task_id) = self.due.pop_front()?;
        self.take(&task_id)
    }

    /// Takes out the batches of another life of the hub.
    pub(super) fn forget(&mut self, epoch: u64) -> Vec<Batch> {
        let is_lost = |batch: &Batch| batch.epoch.is_some_and(|e| e != epoch);
        let lost = self.by_task.extract_if(|_, (_, batch)| is_lost(batch));
        lost.map(|(_, (_, batch))| batch).collect()
    }

    /// Takes out all batches.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Batch> {
        self.due.clear();
        self.by_task.drain().map(|(_, (_, batch))| batch)
    }
}
