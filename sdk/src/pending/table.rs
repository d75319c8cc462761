//! The delegated tasks of one client.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use agenthub_proto::{a2a::Task, agenthub::AgentEvent};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::Instant,
};

use super::{
    Pending, Update,
    fold::{Ending, Fold},
};
use crate::{Error, Outcome};

/// Time after its deadline for which a task may stay without an outcome before the hub is asked.
const GRACE: Duration = Duration::from_secs(2);

/// Time after the end of its task in which an artifact may come.
const LATE: Duration = Duration::from_millis(250);

/// Takes what comes back and gives it to who waits. Never blocks.
#[derive(Debug, Default)]
pub(crate) struct Table {
    tasks: Mutex<Tasks>,
    /// Told when a task is to be asked for before all others.
    pub(super) added: Notify,
    /// Told when a task was taken, but what came back may have been missed.
    pub(super) doubted: Notify,
}

/// Events of a task that may be there before it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// No event.
    Nothing,
    /// The task, which may still wait for just what is asked.
    GoesOn,
    /// Everything: just this was asked already, perhaps by another process.
    Asked,
}

/// Message to a waiting [`Pending`].
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) updates: mpsc::Receiver<Box<Update>>,
    pub(crate) outcome: oneshot::Receiver<Result<Outcome, Error>>,
}

#[derive(Debug, Default)]
struct Tasks {
    slots: HashMap<String, Slot>,
    /// No task should have ended before this; `None` if nobody waits for that time.
    next_check: Option<Instant>,
}

#[derive(Debug)]
struct Slot {
    fold: Fold,
    /// Boxed: the queue has room for many, and most tasks have few.
    updates: mpsc::Sender<Box<Update>>,
    missed: u64,
    outcome: oneshot::Sender<Result<Outcome, Error>>,
    /// The hub has taken the message that makes the task, so it must know it.
    is_accepted: bool,
    before: Before,
    /// Events of a task that goes on, which came before the hub took what is asked: some may be of an earlier question.
    early: VecDeque<AgentEvent>,
    /// Position of the last event for which `early` had no room.
    dropped: Option<String>,
    /// Position of what is asked in a task that goes on; events up to it are of an earlier question. Empty if not known.
    after: String,
    /// The outcome, unless an artifact follows until the hub is asked.
    perhaps: Option<Outcome>,
    /// Time at which the hub is asked.
    check_at: Instant,
}

impl Table {
    /// Awaits the outcome of a task that will be asked for.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if it is awaited already.
    pub(crate) fn add(
        &self,
        task_id: &str,
        asked: &str,
        timeout: Duration,
        before: Before,
    ) -> Result<Ends, Error> {
        let (updates, updates_end) = mpsc::channel(Pending::MAX_UPDATES);
        let (outcome, outcome_end) = oneshot::channel();
        let mut tasks = self.lock();
        if tasks.slots.contains_key(task_id) {
            return Err(Error::Conflict(format!(
                "task {task_id} is awaited already"
            )));
        }
        let check_at = Instant::now() + timeout.min(FAR) + GRACE;
        let slot = Slot {
            fold: Fold::new(task_id, asked),
            updates,
            missed: 0,
            outcome,
            is_accepted: false,
            before,
            early: VecDeque::new(),
            dropped: None,
            after: String::new(),
            perhaps: None,
            check_at,
        };
        tasks.slots.insert(task_id.to_owned(), slot);
        self.check_by(&mut tasks, check_at);
        drop(tasks);
        Ok(Ends {
            updates: updates_end,
            outcome: outcome_end,
        })
    }

    /// The hub has taken the task, at this position of its log; `in_doubt` says that the connection broke meanwhile.
    pub(crate) fn accept(&self, task_id: &str, position: &str, in_doubt: bool) {
        let mut is_doubted = in_doubt;
        let mut tasks = self.lock();
        if let Some(slot) = tasks.slots.get_mut(task_id) {
            slot.is_accepted = true;
            if slot.before == Before::GoesOn {
                position.clone_into(&mut slot.after);
                let dropped = slot.dropped.take();
                is_doubted |= dropped.is_some_and(|last| !is_up_to(&last, position));
                let early = std::mem::take(&mut slot.early);
                // The lock is held, so that no later event comes before these.
                for event in early {
                    self.fold(&mut tasks, &event);
                }
            }
        }
        drop(tasks);
        if is_doubted {
            self.doubted.notify_one();
        }
    }

    /// Gives an event to who waits for its task; others are of no interest.
    pub(crate) fn apply(&self, event: &AgentEvent) {
        let mut tasks = self.lock();
        match tasks.slots.get_mut(event.task_id()) {
            Some(slot) if slot.before == Before::GoesOn && !slot.is_accepted => slot.keep(event),
            Some(_) => self.fold(&mut tasks, event),
            None => {}
        }
    }

    /// Adds an event to what is known of its task, and resolves the task if it is its outcome.
    fn fold(&self, tasks: &mut Tasks, event: &AgentEvent) {
        let Some(slot) = tasks.slots.get_mut(event.task_id()) else {
            return;
        };
        if is_up_to(&event.position, &slot.after) {
            return;
        }
        let (update, ending) = slot.fold.apply(event);
        if let Some(update) = update {
            slot.show(update);
        }
        match ending {
            Ending::No => {}
            Ending::Perhaps(outcome) => {
                slot.perhaps = Some(outcome);
                slot.check_at = Instant::now() + LATE;
                let check_at = slot.check_at;
                self.check_by(tasks, check_at);
            }
            Ending::Yes(outcome) => resolve(tasks.slots.remove(event.task_id()), Ok(outcome)),
        }
    }

    /// The hub is to be asked for a task by then.
    fn check_by(&self, tasks: &mut Tasks, check_at: Instant) {
        if tasks.next_check.is_none_or(|next| check_at < next) {
            tasks.next_check = Some(check_at);
            self.added.notify_one();
        }
    }

    /// The task as the hub has it. Returns whether that is its outcome.
    pub(super) fn settle(&self, task: &Task) -> bool {
        let mut tasks = self.lock();
        let goes_on = tasks
            .slots
            .get(&task.id)
            .is_some_and(|slot| slot.before == Before::GoesOn);
        let ended = task.state().is_terminal() || (task.state().is_interrupted() && !goes_on);
        if ended {
            resolve(tasks.slots.remove(&task.id), Ok(Outcome::of(task)));
        }
        ended
    }

    /// Ends the wait for a task with the outcome that is there, or with this error.
    pub(crate) fn fail(&self, task_id: &str, error: Error) {
        let mut slot = self.lock().slots.remove(task_id);
        let known = slot.as_mut().and_then(|slot| slot.perhaps.take());
        resolve(slot, known.ok_or(error));
    }

    /// Does the same for all tasks.
    pub(crate) fn fail_all(&self, error: &Error) {
        let slots = std::mem::take(&mut self.lock().slots);
        for mut slot in slots.into_values() {
            let known = slot.perhaps.take();
            resolve(Some(slot), known.ok_or_else(|| error.clone()));
        }
    }

    /// Ends the wait for a task that nobody waits for any more.
    pub(super) fn remove(&self, task_id: &str) {
        self.lock().slots.remove(task_id);
    }

    /// The tasks that the hub should know.
    pub(super) fn accepted(&self) -> Vec<String> {
        let tasks = self.lock();
        let accepted = tasks.slots.iter().filter(|(_, slot)| slot.is_accepted);
        accepted.map(|(task_id, _)| task_id.clone()).collect()
    }

    /// The tasks that should have ended by this time.
    pub(super) fn overdue(&self, now: Instant) -> Vec<String> {
        let tasks = self.lock();
        let overdue = tasks.slots.iter().filter(|(_, slot)| slot.check_at <= now);
        overdue.map(|(task_id, _)| task_id.clone()).collect()
    }

    /// Time at which the next task should have ended.
    pub(super) fn next_check(&self) -> Option<Instant> {
        let mut tasks = self.lock();
        let next = tasks.slots.values().map(|slot| slot.check_at).min();
        tasks.next_check = next;
        next
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().expect("no panic while it is locked")
    }
}

/// The most events that wait until it is known whether they are of an earlier question.
const MOST_EARLY: usize = 64;

/// True if a position is at or before another one of the same log.
fn is_up_to(position: &str, other: &str) -> bool {
    let read = |text: &str| {
        let (log, number) = text.split_once('-')?;
        Some((log.to_owned(), number.parse::<u64>().ok()?))
    };
    match (read(position), read(other)) {
        (Some((log, number)), Some((same, up_to))) => log == same && number <= up_to,
        _ => false,
    }
}

/// Long enough, and no overflow of the clock.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

fn resolve(slot: Option<Slot>, result: Result<Outcome, Error>) {
    if let Some(slot) = slot {
        // Who no longer waits is not told.
        let _ = slot.outcome.send(result);
    }
}

impl Slot {
    /// Keeps an event until the hub has taken what is asked. Where there is no room, the oldest goes: it is the first to be of an earlier question.
    fn keep(&mut self, event: &AgentEvent) {
        if self.early.len() == MOST_EARLY {
            self.dropped = self.early.pop_front().map(|oldest| oldest.position);
        }
        self.early.push_back(event.clone());
    }

    fn show(&mut self, update: Update) {
        if self.missed > 0 {
            match self.updates.try_send(Box::new(Update::Missed(self.missed))) {
                Ok(()) => self.missed = 0,
                Err(_) => {
                    self.missed += 1;
                    return;
                }
            }
        }
        if let Err(mpsc::error::TrySendError::Full(_)) = self.updates.try_send(Box::new(update)) {
            self.missed += 1;
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
