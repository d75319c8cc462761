//! The task store: every task as its events made it. A fold of the log.
//!
//! A task is *live* as long as somebody can send something for it, *fresh* once it has ended, and *settled* when the time for late artifacts
//! is over.

mod children;
mod entry;
mod known;
mod listing;
mod saved;
mod settled;
mod shown;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{Artifact, Message, Task, TaskState, TaskStatus},
    agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    event::{system_time, timestamp},
};
use prost::Message as _;

use self::{
    entry::{Body, Entry, MadeBy},
    settled::Settled,
};
pub(crate) use self::{
    known::{Content, Known, with_history},
    listing::Query,
    saved::Saved,
    settled::Ended,
    shown::shown,
};
use crate::{
    dedupe::{Fingerprint, Seen},
    id::{AgentId, TaskId},
    steps::step,
};

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Tasks that have not ended.
    pub(crate) open: usize,
    pub(crate) ended: usize,
    /// How long those are kept.
    pub(crate) ended_age: Duration,
    /// Of their contents, in memory and in the log.
    pub(crate) ended_bytes: u64,
    /// Of all tasks, in memory.
    pub(crate) bytes: usize,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Tasks {
    bounds: Bounds,
    /// Of live tasks.
    bytes: usize,
    live: HashMap<TaskId, Entry>,
    by_change: BTreeMap<u64, TaskId>,
    /// The changes of those that have ended.
    fresh: BTreeSet<u64>,
    deadlines: BTreeSet<(SystemTime, TaskId)>,
    /// Of each assignee.
    open: HashMap<AgentId, BTreeSet<TaskId>>,
    /// Open tasks, by those on whose behalf they were asked for.
    children: HashMap<TaskId, BTreeSet<TaskId>>,
    settled: Settled,
    /// Fresh tasks that were forgotten.
    dropped: Vec<TaskId>,
    changes: u64,
}

/// Tasks that settle, or leave the memory, under one hold of the lock.
const AT_ONCE: usize = 2_000;

impl Tasks {
    /// An empty store.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            bytes: 0,
            live: HashMap::new(),
            by_change: BTreeMap::new(),
            fresh: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            open: HashMap::new(),
            children: HashMap::new(),
            settled: Settled::default(),
            dropped: Vec::new(),
            changes: 0,
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Known<'_>> {
        let live = self.live.get(id).map(Known::Live);
        live.or_else(|| self.settled.get(id).map(Known::Settled))
    }

    /// What is known of a publish that made this task.
    pub(crate) fn made_by(&self, task: &str, publish: Fingerprint) -> Option<Seen> {
        let made_by = match self.get(task)? {
            Known::Live(entry) => entry.made_by,
            Known::Settled(row) => row.made_by,
        };
        let (made_by, seen) = made_by?;
        (made_by == publish).then_some(seen)
    }

    /// Remembers the publish that has made a task.
    pub(crate) fn set_made_by(&mut self, task: &str, made_by: MadeBy) {
        if let Some(entry) = self.live.get_mut(task) {
            entry.made_by = Some(made_by);
        }
    }

    /// Tasks that an agent works on and has not ended.
    pub(crate) fn in_flight(&self, agent: &AgentId) -> usize {
        self.open.get(agent).map_or(0, BTreeSet::len)
    }

    /// Whether a task may grow.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes() < self.bounds.bytes || self.ended() > 0
    }

    /// Whether there may be another task.
    pub(crate) fn has_room_for_another(&self) -> bool {
        self.has_room() && self.live.len() - self.fresh.len() < self.bounds.open
    }

    /// How many tasks are known.
    pub(crate) fn len(&self) -> usize {
        self.live.len() + self.settled.len()
    }

    /// How many of them have ended.
    fn ended(&self) -> usize {
        self.fresh.len() + self.settled.len()
    }

    /// Bytes in memory.
    fn bytes(&self) -> usize {
        self.bytes + self.settled.bytes()
    }

    /// The open tasks of an assignee, in order of their ids, at most so many.
    pub(crate) fn open_of(&self, agent: &AgentId, limit: usize) -> Vec<TaskId> {
        let ids = self.open.get(agent).into_iter().flatten().take(limit);
        ids.inspect(|_| step()).cloned().collect()
    }

    /// Settles tasks, some at a time, in the order of their last change. Returns those for which nobody can send anything any more.
    pub(crate) fn settle(&mut self, late: Duration, now: SystemTime) -> Vec<TaskId> {
        let mut settled = std::mem::take(&mut self.dropped);
        for _ in 0..AT_ONCE {
            let first = self.fresh.first().and_then(|c| self.by_change.get(c));
            let Some(id) = first.cloned() else { break };
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

    /// Settles all tasks that had ended by their last change up to this.
    pub(crate) fn settle_upto(&mut self, changed: u64) {
        while let Some(first) = self.fresh.first().filter(|first| **first <= changed) {
            let Some(id) = self.by_change.get(first).cloned() else {
                break;
            };
            if let Some(entry) = self.remove(&id) {
                self.settled.push(row(&id, entry));
            }
        }
    }

    /// The change up to which all tasks that have ended have settled.
    pub(crate) fn settled_upto(&self) -> u64 {
        self.settled.last()
    }

    /// Forgets tasks that have become old, and drops from memory what the log has, some at a time.
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

    /// The open tasks whose deadline has passed, at most so many.
    pub(crate) fn overdue(&self, limit: usize, now: SystemTime) -> Vec<TaskId> {
        let overdue = self.deadlines.iter().take_while(|(at, _)| *at <= now);
        overdue.take(limit).map(|(_, id)| id.clone()).collect()
    }

    /// Whether the deadline of an open task has passed.
    pub(crate) fn is_overdue(&self, now: SystemTime) -> bool {
        self.deadlines.first().is_some_and(|(at, _)| *at <= now)
    }

    /// A message creates its task or joins its history.
    pub(crate) fn apply_message(
        &mut self,
        message: &Message,
        routing: &AgentEventMetadata,
        assignee: Option<&AgentId>,
        time: SystemTime,
    ) {
        let id = TaskId::from(message.task_id.as_str());
        if let Some(entry) = self.live.get_mut(&id) {
            self.bytes -= entry.weight();
            entry.bytes += message.encoded_len();
            entry.task_mut().history.push(message.clone());
            self.bytes += entry.weight();
            self.assign(&id, assignee);
            self.touch(&id);
            self.make_room();
            return;
        }
        // One that has settled takes no message: it was forgotten before this one was accepted.
        self.settled.replace(&id);
        let deadline = routing.deadline.as_ref().and_then(system_time);
        let task = Task {
            id: message.task_id.clone(),
            context_id: message.context_id.clone(),
            status: Some(TaskStatus {
                state: TaskState::Submitted.into(),
                update: None,
                timestamp: Some(timestamp(time)),
            }),
            history: vec![message.clone()],
            ..Default::default()
        };
        let mut entry = Entry {
            bytes: message.encoded_len(),
            body: Body::Open(Box::new(task)),
            parties: (routing.from_agent_id.as_str().into(), None),
            task_type: message.task_type().to_owned(),
            parent: entry::parent(&routing.parent_task_id),
            deadline,
            ended_at: None,
            made_by: None,
            changed: 0,
        };
        entry.set_metadata("requester", &routing.from_agent_id);
        entry.set_metadata("task_type", message.task_type());
        entry.set_metadata("parent_task_id", &routing.parent_task_id);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, id.clone()));
        }
        if let Some(parent) = &entry.parent {
            self.add_child(&parent.clone(), &id);
        }
        self.bytes += entry.weight();
        self.live.insert(id.clone(), entry);
        self.assign(&id, assignee);
        self.touch(&id);
        self.make_room();
    }

    /// A status that was accepted.
    pub(crate) fn apply_status(
        &mut self,
        update: &TaskStatusUpdateEvent,
        assignee: Option<&AgentId>,
        time: SystemTime,
    ) {
        let id = TaskId::from(update.task_id.as_str());
        self.assign(&id, assignee);
        let (Some(entry), Some(status)) = (self.live.get_mut(&id), &update.status) else {
            return self.touch(&id);
        };
        let was_terminal = entry.is_terminal();
        self.bytes -= entry.weight();
        entry.task_mut().status = Some(TaskStatus {
            timestamp: status.timestamp.or(Some(timestamp(time))),
            ..status.clone()
        });
        let has_ended = entry.is_terminal() && !was_terminal;
        if has_ended {
            entry.ended_at = Some(time);
            entry.note_usage(update);
            entry.encode();
        }
        self.bytes += entry.weight();
        if has_ended {
            let (deadline, assignee) = (entry.deadline, entry.parties.1.clone());
            let parent = entry.parent.clone();
            self.fresh.insert(entry.changed);
            if let Some(parent) = parent {
                self.remove_child(&parent, &id);
            }
            if let Some(deadline) = deadline {
                self.deadlines.remove(&(deadline, id.clone()));
            }
            if let Some(assignee) = assignee {
                self.close(&assignee, &id);
            }
        }
        self.touch(&id);
        self.make_room();
    }

    /// An artifact that was accepted: another one, or more of one.
    pub(crate) fn apply_artifact(
        &mut self,
        update: &TaskArtifactUpdateEvent,
        assignee: Option<&AgentId>,
    ) {
        let id = TaskId::from(update.task_id.as_str());
        self.assign(&id, assignee);
        let (Some(entry), Some(artifact)) = (self.live.get_mut(&id), &update.artifact) else {
            return self.touch(&id);
        };
        self.bytes -= entry.weight();
        let added = artifact.encoded_len();
        let replaced = merge(&mut entry.task_mut().artifacts, artifact, update.append);
        entry.bytes = entry.bytes + added - replaced;
        self.bytes += entry.weight();
        self.touch(&id);
        self.make_room();
    }

    /// Forgets tasks that have ended, the oldest first, until all bounds hold.
    fn make_room(&mut self) {
        while self.ended() > self.bounds.ended
            || self.bytes() > self.bounds.bytes
            || self.settled.content() > self.bounds.ended_bytes
        {
            if self.settled.pop_front() {
                continue;
            }
            let first = self.fresh.first().and_then(|c| self.by_change.get(c));
            let Some(id) = first.cloned() else { break };
            self.remove(&id);
            self.dropped.push(id);
        }
    }

    /// Takes out a live task that has ended.
    fn remove(&mut self, id: &TaskId) -> Option<Entry> {
        let entry = self.live.remove(id)?;
        self.bytes -= entry.weight();
        self.by_change.remove(&entry.changed);
        self.fresh.remove(&entry.changed);
        Some(entry)
    }

    fn assign(&mut self, id: &TaskId, assignee: Option<&AgentId>) {
        let (Some(entry), Some(assignee)) = (self.live.get_mut(id), assignee) else {
            return;
        };
        if entry.parties.1.is_some() || entry.is_terminal() {
            return;
        }
        entry.parties.1 = Some(assignee.clone());
        entry.set_metadata("assignee", assignee);
        let open = self.open.entry(assignee.clone()).or_default();
        open.insert(id.clone());
    }

    /// A task of an assignee has ended.
    fn close(&mut self, assignee: &AgentId, id: &TaskId) {
        if let Some(open) = self.open.get_mut(assignee) {
            open.remove(id);
            if open.is_empty() {
                self.open.remove(assignee);
            }
        }
    }

    /// Counts a change. It counts whether the task is known or not: who folds the same log counts alike, whatever was forgotten.
    fn touch(&mut self, id: &TaskId) {
        self.changes += 1;
        let Some(entry) = self.live.get_mut(id) else {
            return;
        };
        self.by_change.remove(&entry.changed);
        if self.fresh.remove(&entry.changed) {
            self.fresh.insert(self.changes);
        }
        entry.changed = self.changes;
        self.by_change.insert(self.changes, id.clone());
    }
}

/// A task that has settled.
fn row(id: &TaskId, mut entry: Entry) -> Ended {
    entry.encode();
    let Body::Ended(body) = entry.body else {
        unreachable!("it was encoded above")
    };
    let (requester, assignee) = entry.parties;
    Ended {
        id: id.to_string(),
        context: body.context.into(),
        task_type: entry.task_type,
        requester,
        assignee,
        state: body.state,
        bytes: u32::try_from(entry.bytes).unwrap_or(u32::MAX),
        changed: entry.changed,
        ended_at: entry.ended_at.unwrap_or(SystemTime::UNIX_EPOCH),
        made_by: entry.made_by,
        content: Ok(body.encoded),
    }
}

/// Adds an artifact; one with a known id goes on, or is replaced. Returns the bytes that went by that.
fn merge(artifacts: &mut Vec<Artifact>, artifact: &Artifact, append: bool) -> usize {
    let known = artifacts
        .iter_mut()
        .find(|a| a.artifact_id == artifact.artifact_id);
    match known {
        Some(known) if append => known.parts.extend(artifact.parts.iter().cloned()),
        Some(known) => return std::mem::replace(known, artifact.clone()).encoded_len(),
        None => artifacts.push(artifact.clone()),
    }
    0
}

#[cfg(test)]
mod tests;
