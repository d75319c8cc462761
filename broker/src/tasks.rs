//! The task store. A fold of the log.
//!
//! A task is *live* while updates for it are accepted, *fresh* once it has ended, and *settled* after the time for late
//! artifacts.

mod applying;
mod by_change;
mod children;
mod entry;
mod known;
mod latest;
mod listing;
mod rows;
mod saved;
mod settled;
mod shown;
mod states;
mod status_listing;
mod status_order;
mod used;

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, SystemTime},
};

use self::used::Used;
pub(crate) use self::used::{Spent, until_tomorrow};
use self::{
    by_change::ByChange,
    entry::{Body, Entry, MadeBy},
    settled::Settled,
    status_order::StatusOrder,
};
pub(crate) use self::{
    known::{Content, Known, with_history},
    listing::{Own, Page, Query},
    saved::Saved,
    settled::Ended,
    shown::shown,
    status_listing::StatusQuery,
    status_order::{Nanos, Place},
};
use crate::{
    dedupe::{Fingerprint, PublishOutcome},
    id::{AgentId, TaskId},
    log::Position,
    metrics::STATES,
    steps::step,
};

/// Limits of the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Maximum open tasks.
    pub(crate) open: usize,
    pub(crate) ended: usize,
    /// Retention of ended tasks.
    pub(crate) ended_age: Duration,
    /// Maximum bytes of their contents, in memory and in the log.
    pub(crate) ended_bytes: u64,
    /// Maximum bytes of all tasks in memory.
    pub(crate) bytes: usize,
}

/// The store, see the module.
#[derive(Debug)]
pub(crate) struct Tasks {
    bounds: Bounds,
    /// Bytes of live tasks.
    bytes: usize,
    live: HashMap<TaskId, Entry>,
    /// Live tasks by their last change.
    by_change: ByChange,
    /// Live tasks by the time of their status.
    order: StatusOrder<TaskId>,
    deadlines: BTreeSet<(SystemTime, TaskId)>,
    /// Open tasks of each assignee.
    open: HashMap<AgentId, BTreeSet<TaskId>>,
    /// Open tasks, by the task on whose behalf they were requested.
    children: HashMap<TaskId, BTreeSet<TaskId>>,
    settled: Settled,
    used: Used,
    /// Fresh tasks that were dropped.
    dropped: Vec<TaskId>,
    changes: u64,
}

/// Tasks settled, or dropped from memory, per acquisition of the lock.
const AT_ONCE: usize = 2_000;

impl Tasks {
    /// An empty store.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            bytes: 0,
            live: HashMap::new(),
            by_change: ByChange::default(),
            order: StatusOrder::default(),
            deadlines: BTreeSet::new(),
            open: HashMap::new(),
            children: HashMap::new(),
            settled: Settled::default(),
            used: Used::default(),
            dropped: Vec::new(),
            changes: 0,
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Known<'_>> {
        let live = self.live.get(id).map(Known::Live);
        live.or_else(|| self.settled.get(id).map(Known::Settled))
    }

    /// The deduplication entry of the publish that created this task.
    pub(crate) fn made_by(&self, task: &str, publish: Fingerprint) -> Option<PublishOutcome> {
        let made_by = match self.get(task)? {
            Known::Live(entry) => entry.made_by,
            Known::Settled(row) => row.made_by,
        };
        let (made_by, seen) = made_by?;
        (made_by == publish).then_some(seen)
    }

    /// Stores the publish that created a task.
    pub(crate) fn set_made_by(&mut self, task: &str, made_by: MadeBy) {
        if let Some(entry) = self.live.get_mut(task) {
            entry.made_by = Some(made_by);
        }
    }

    /// Sets the position in the log of a task's last change.
    pub(crate) fn set_changed_at(&mut self, task: &str, position: Position) {
        if let Some(entry) = self.live.get_mut(task) {
            entry.changed_at = position;
        }
    }

    /// Number of an agent's open tasks.
    pub(crate) fn in_flight(&self, agent: &AgentId) -> usize {
        self.open.get(agent).map_or(0, BTreeSet::len)
    }

    /// True if a task may grow.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes() < self.bounds.bytes || self.ended() > 0
    }

    /// True if there is room for another task.
    pub(crate) fn has_room_for_another(&self) -> bool {
        self.has_room() && self.live.len() - self.by_change.ended() < self.bounds.open
    }

    /// Use that principals make of tasks.
    pub(crate) fn used(&self) -> &Used {
        &self.used
    }

    /// Restores what a principal took of models in a day.
    pub(crate) fn restore_spent(&mut self, day: u64, principal: String, spent: Spent) {
        self.used.restore(day, principal, spent);
    }

    /// Counts what was used without a task on behalf of a principal.
    pub(crate) fn charge(&mut self, principal: &str, spent: Spent, time: SystemTime) {
        self.used.spend(principal, spent, time);
    }

    /// Number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.live.len() + self.settled.len()
    }

    /// Number of ended tasks.
    fn ended(&self) -> usize {
        self.by_change.ended() + self.settled.len()
    }

    /// Number of open tasks in each state.
    pub(crate) fn open_states(&self) -> [u32; STATES] {
        self.by_change.open()
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.settled.bytes()
    }

    /// Open tasks of an assignee ordered by id, at most `limit`.
    pub(crate) fn open_of(&self, agent: &AgentId, limit: usize) -> Vec<TaskId> {
        let ids = self.open.get(agent).into_iter().flatten().take(limit);
        ids.inspect(|_| step()).cloned().collect()
    }

    /// Settles some tasks, in the order of their last change. Returns those for which nothing is accepted any more.
    pub(crate) fn settle(&mut self, late: Duration, now: SystemTime) -> Vec<TaskId> {
        let mut settled = std::mem::take(&mut self.dropped);
        for _ in 0..AT_ONCE {
            let Some((_, id)) = self.by_change.first_ended() else {
                break;
            };
            let id = id.clone();
            if self.live.get(&id).is_none_or(|e| e.is_fresh(now, late)) {
                break;
            }
            step();
            if let Some(entry) = self.remove(&id) {
                self.settled.push(row(&id, entry));
            }
            settled.push(id);
        }
        settled
    }

    /// Settles all ended tasks whose last change is up to this.
    pub(crate) fn settle_upto(&mut self, changed: u64) {
        while let Some((first, id)) = self.by_change.first_ended()
            && first <= changed
        {
            let id = id.clone();
            if let Some(entry) = self.remove(&id) {
                self.settled.push(row(&id, entry));
            }
        }
    }

    /// The change up to which all ended tasks have settled.
    pub(crate) fn settled_upto(&self) -> u64 {
        self.settled.last()
    }

    /// Drops old tasks, and contents that the log has, some per call.
    pub(crate) fn tidy(&mut self, now: SystemTime) {
        self.settled.unload(AT_ONCE);
        for _ in 0..AT_ONCE {
            if !self.settled.is_old(self.bounds.ended_age, now) {
                break;
            }
            step();
            self.settled.pop_front();
        }
    }

    /// Open tasks past their deadline, at most `limit`.
    pub(crate) fn overdue(&self, limit: usize, now: SystemTime) -> Vec<TaskId> {
        let overdue = self.deadlines.iter().take_while(|(at, _)| *at <= now);
        overdue.take(limit).map(|(_, id)| id.clone()).collect()
    }

    /// True if an open task is past its deadline.
    pub(crate) fn is_overdue(&self, now: SystemTime) -> bool {
        self.deadlines.first().is_some_and(|(at, _)| *at <= now)
    }

    /// Drops ended tasks, the oldest first, until all limits hold.
    fn make_room(&mut self) {
        while self.ended() > self.bounds.ended
            || self.bytes() > self.bounds.bytes
            || self.settled.content() > self.bounds.ended_bytes
        {
            if self.settled.pop_front() {
                continue;
            }
            let Some((_, id)) = self.by_change.first_ended() else {
                break;
            };
            let id = id.clone();
            self.remove(&id);
            self.dropped.push(id);
        }
    }

    /// Removes a live task that has ended.
    fn remove(&mut self, id: &TaskId) -> Option<Entry> {
        self.leave_order(id);
        let entry = self.live.remove(id)?;
        self.bytes -= entry.weight();
        self.by_change.remove(&entry);
        Some(entry)
    }

    /// Adds a live task to the order, once it has an assignee.
    fn enter_order(&mut self, id: &TaskId) {
        if let Some(entry) = self.live.get(id)
            && let Some(assignee) = &entry.parties.1
        {
            let place = Place::new(entry.status_at, id);
            self.order
                .insert(assignee, place, entry.state(), id.clone());
        }
    }

    /// Removes a live task from the order, before its status changes.
    fn leave_order(&mut self, id: &TaskId) {
        if let Some(entry) = self.live.get(id)
            && let Some(assignee) = &entry.parties.1
        {
            let place = Place::new(entry.status_at, id);
            self.order.remove(assignee, place, entry.state());
        }
    }
}

/// Converts a live task to a settled one.
fn row(id: &TaskId, mut entry: Entry) -> Ended {
    entry.encode();
    let initiator = entry.initiator().to_owned();
    let Body::Ended(body) = entry.body else {
        unreachable!("it was encoded above")
    };
    let (requester, assignee) = entry.parties;
    Ended {
        id: id.to_string(),
        context: body.context.into(),
        task_type: entry.task_type,
        initiator,
        requester,
        assignee,
        state: body.state,
        bytes: u32::try_from(entry.bytes).unwrap_or(u32::MAX),
        changed: entry.changed,
        ended_at: entry.ended_at.unwrap_or(SystemTime::UNIX_EPOCH),
        status_at: entry.status_at,
        extent: entry.extent,
        made_by: entry.made_by,
        content: Ok(body.encoded),
    }
}

#[cfg(test)]
mod tests;
