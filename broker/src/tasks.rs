//! The task store: every task as its events made it. A fold of the log.

mod entry;
mod saved;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{Artifact, Message, Task, TaskState, TaskStatus},
    agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    event::{system_time, timestamp},
};
use prost::Message as _;

pub(crate) use self::{entry::Entry, saved::Saved};
use crate::{
    dedupe::{Fingerprint, Seen},
    id::{AgentId, TaskId},
    limits::PAGE_BYTES,
    steps::step,
};

/// What a listing asks for. All that is given must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub(crate) agent: Option<AgentId>,
    pub(crate) context: Option<String>,
    pub(crate) states: Vec<TaskState>,
    /// Only what changed before this: the token of the page before.
    pub(crate) before: Option<u64>,
    pub(crate) limit: usize,
}

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Tasks that have not ended.
    pub(crate) open: usize,
    pub(crate) ended: usize,
    /// Of all of them.
    pub(crate) bytes: usize,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Tasks {
    bounds: Bounds,
    bytes: usize,
    entries: HashMap<TaskId, Entry>,
    by_change: BTreeMap<u64, TaskId>,
    deadlines: BTreeSet<(SystemTime, TaskId)>,
    /// Of each assignee.
    open: HashMap<AgentId, BTreeSet<TaskId>>,
    /// Oldest end first.
    ended: VecDeque<TaskId>,
    /// Those that have ended and not settled, in the order in which they ended.
    settling: VecDeque<(SystemTime, TaskId)>,
    changes: u64,
}

impl Tasks {
    /// An empty store.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            bytes: 0,
            entries: HashMap::new(),
            by_change: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            open: HashMap::new(),
            ended: VecDeque::new(),
            settling: VecDeque::new(),
            changes: 0,
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// What is known of a publish that made this task.
    pub(crate) fn made_by(&self, task: &str, publish: Fingerprint) -> Option<Seen> {
        let (made_by, seen) = self.entries.get(task)?.made_by?;
        (made_by == publish).then_some(seen)
    }

    /// Remembers the publish that has made a task.
    pub(crate) fn set_made_by(&mut self, task: &str, made_by: (Fingerprint, Seen)) {
        if let Some(entry) = self.entries.get_mut(task) {
            entry.made_by = Some(made_by);
        }
    }

    /// Tasks that an agent works on and has not ended.
    pub(crate) fn in_flight(&self, agent: &AgentId) -> usize {
        self.open.get(agent).map_or(0, BTreeSet::len)
    }

    /// Whether a task may grow.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < self.bounds.bytes || !self.ended.is_empty()
    }

    /// Whether there may be another task.
    pub(crate) fn has_room_for_another(&self) -> bool {
        self.has_room() && self.entries.len().saturating_sub(self.ended.len()) < self.bounds.open
    }

    /// How many tasks are known.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The open tasks of an assignee, in order of their ids.
    pub(crate) fn open_of(&self, agent: &AgentId) -> Vec<TaskId> {
        let ids = self.open.get(agent).into_iter().flatten();
        ids.inspect(|_| step()).cloned().collect()
    }

    /// Tasks settle when the time for late artifacts is over: nobody can send anything for them any more. Returns some of those that
    /// have settled since this was asked last.
    pub(crate) fn settle(&mut self, late: Duration, now: SystemTime) -> Vec<TaskId> {
        /// Tasks that settle under one hold of the lock.
        const AT_ONCE: usize = 5_000;
        let is_over = |(at, _): &mut (SystemTime, TaskId)| {
            let ago = now.duration_since(*at);
            ago.is_ok_and(|ago| ago > late)
        };
        let settled = std::iter::from_fn(|| self.settling.pop_front_if(is_over));
        settled.take(AT_ONCE).map(|(_, id)| id).collect()
    }

    /// The open tasks whose deadline has passed.
    pub(crate) fn overdue(&self, now: SystemTime) -> Vec<TaskId> {
        self.deadlines
            .iter()
            .take_while(|(at, _)| *at <= now)
            .map(|(_, id)| id.clone())
            .collect()
    }

    /// The tasks that match, latest change first, and the token of the next page if there is one.
    pub(crate) fn list(&self, query: &Query) -> (Vec<&Entry>, Option<u64>) {
        let matches = |e: &&Entry| {
            query
                .agent
                .as_ref()
                .is_none_or(|a| e.requester() == a || e.assignee() == Some(a))
                && query
                    .context
                    .as_ref()
                    .is_none_or(|c| e.task.context_id == *c)
                && (query.states.is_empty() || query.states.contains(&e.task.state()))
        };
        let before = query.before.unwrap_or(u64::MAX);
        let found = self
            .by_change
            .range(..before)
            .rev()
            .filter_map(|(_, id)| self.entries.get(id))
            .filter(matches);
        let mut page: Vec<&Entry> = Vec::new();
        let mut bytes = 0;
        for entry in found {
            bytes += entry.weight();
            if page.len() == query.limit || (bytes > PAGE_BYTES && !page.is_empty()) {
                return (page.clone(), page.last().map(|e| e.changed));
            }
            page.push(entry);
        }
        (page, None)
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
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.bytes += message.encoded_len();
            self.bytes += message.encoded_len();
            entry.task.history.push(message.clone());
            self.assign(&id, assignee);
            self.touch(&id);
            self.make_room();
            return;
        }
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
            task,
            parties: (routing.from_agent_id.as_str().into(), None),
            task_type: message.task_type().to_owned(),
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
        self.bytes += entry.weight();
        self.entries.insert(id.clone(), entry);
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
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let Some(status) = &update.status else { return };
        let was_terminal = entry.is_terminal();
        self.bytes -= entry.weight();
        entry.task.status = Some(TaskStatus {
            timestamp: status.timestamp.or(Some(timestamp(time))),
            ..status.clone()
        });
        self.bytes += entry.weight();
        if entry.is_terminal() && !was_terminal {
            entry.ended_at = Some(time);
            entry.note_usage(update);
            if let Some(deadline) = entry.deadline {
                self.deadlines.remove(&(deadline, id.clone()));
            }
            if let Some(assignee) = entry.parties.1.clone() {
                self.close(&assignee, &id);
            }
            self.ended.push_back(id.clone());
            self.settling.push_back((time, id.clone()));
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
        let (Some(entry), Some(artifact)) = (self.entries.get_mut(&id), &update.artifact) else {
            return;
        };
        let added = artifact.encoded_len();
        let replaced = merge(&mut entry.task.artifacts, artifact, update.append);
        entry.bytes = entry.bytes + added - replaced;
        self.bytes = self.bytes + added - replaced;
        self.touch(&id);
        self.make_room();
    }

    /// Forgets tasks that have ended, the oldest first, until all bounds hold.
    fn make_room(&mut self) {
        while self.ended.len() > self.bounds.ended || self.bytes > self.bounds.bytes {
            let Some(old) = self.ended.pop_front() else {
                break;
            };
            if let Some(entry) = self.entries.remove(&old) {
                self.bytes -= entry.weight();
                self.by_change.remove(&entry.changed);
            }
        }
    }

    fn assign(&mut self, id: &TaskId, assignee: Option<&AgentId>) {
        let (Some(entry), Some(assignee)) = (self.entries.get_mut(id), assignee) else {
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

    fn touch(&mut self, id: &TaskId) {
        let Some(entry) = self.entries.get_mut(id) else {
            return;
        };
        self.by_change.remove(&entry.changed);
        self.changes += 1;
        entry.changed = self.changes;
        self.by_change.insert(self.changes, id.clone());
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
