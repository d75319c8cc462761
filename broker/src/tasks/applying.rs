//! Accepted messages, statuses and artifacts, applied to their tasks.

use std::time::SystemTime;

use agenthub_proto::{
    a2a::{Artifact, Message, Task, TaskState, TaskStatus},
    agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent, TaskExtent, TaskStatusUpdateEvent},
    event::{system_time, timestamp},
};
use prost::Message as _;

use super::{
    Tasks,
    entry::{self, Body, Entry},
    status_order::Nanos,
    used::Spent,
};
use crate::{
    behalf::Behalf,
    id::{AgentId, TaskId},
    log::Position,
};

impl Tasks {
    /// Applies a message: it creates its task or joins its history.
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
        // A settled task accepts no message: its id was free when this one was accepted.
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
            behalf: entry::known(Behalf {
                principal: routing.on_behalf_of.clone(),
                chain: routing.chain.clone(),
            }),
            deadline,
            ended_at: None,
            status_at: Nanos::of(timestamp(time)),
            extent: TaskExtent::Unspecified,
            made_by: None,
            changed: 0,
            changed_at: Position(0),
        };
        entry.set_metadata("requester", &routing.from_agent_id);
        entry.set_metadata("task_type", message.task_type());
        entry.set_metadata("parent_task_id", &routing.parent_task_id);
        entry.show_behalf();
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, id.clone()));
        }
        if let Some(parent) = &entry.parent {
            self.add_child(&parent.clone(), &id);
        }
        self.used.opened(entry.initiator());
        self.bytes += entry.weight();
        self.live.insert(id.clone(), entry);
        self.assign(&id, assignee);
        self.place(&id);
        self.make_room();
    }

    /// Applies an accepted status.
    pub(crate) fn apply_status(
        &mut self,
        update: &TaskStatusUpdateEvent,
        assignee: Option<&AgentId>,
        time: SystemTime,
    ) {
        let id = TaskId::from(update.task_id.as_str());
        self.assign(&id, assignee);
        let Some(status) = &update.status else {
            return self.touch(&id);
        };
        self.leave_order(&id);
        let Some(entry) = self.live.get_mut(&id) else {
            return self.place(&id);
        };
        self.by_change.remove(entry);
        let was_terminal = entry.is_terminal();
        self.bytes -= entry.weight();
        let status = TaskStatus {
            timestamp: status.timestamp.or(Some(timestamp(time))),
            ..status.clone()
        };
        entry.status_at = Nanos::of_status(Some(&status));
        let task = entry.task_mut();
        task.status = Some(status);
        entry.extent = TaskExtent::of_task(task);
        let has_ended = entry.is_terminal() && !was_terminal;
        if has_ended {
            entry.ended_at = Some(time);
            entry.note_usage(update);
            self.used.closed(entry.initiator());
            if entry.parent.is_none() {
                let spent = Spent::told(update);
                self.used.spend(entry.initiator(), spent, time);
            }
            entry.encode();
        }
        self.bytes += entry.weight();
        if has_ended {
            let (deadline, assignee) = (entry.deadline, entry.parties.1.clone());
            let parent = entry.parent.clone();
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
        self.enter_order(&id);
        self.place(&id);
        self.make_room();
    }

    /// Applies an accepted artifact, or a chunk of one.
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
        self.by_change.remove(entry);
        self.bytes -= entry.weight();
        let added = artifact.encoded_len();
        let task = entry.task_mut();
        let replaced = merge(&mut task.artifacts, artifact, update.append);
        entry.extent = TaskExtent::of_task(task);
        entry.bytes = entry.bytes + added - replaced;
        self.bytes += entry.weight();
        self.place(&id);
        self.make_room();
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
        self.enter_order(id);
    }

    /// Removes an ended task from its assignee's open tasks.
    fn close(&mut self, assignee: &AgentId, id: &TaskId) {
        if let Some(open) = self.open.get_mut(assignee) {
            open.remove(id);
            if open.is_empty() {
                self.open.remove(assignee);
            }
        }
    }

    /// Counts a change, of known and unknown tasks.
    fn touch(&mut self, id: &TaskId) {
        if let Some(entry) = self.live.get(id) {
            self.by_change.remove(entry);
        }
        self.place(id);
    }

    /// Counts a change of a task that has no place by its change yet, or none any more. Every fold of the same log counts alike, whatever was
    /// dropped.
    fn place(&mut self, id: &TaskId) {
        self.changes += 1;
        let Some(entry) = self.live.get_mut(id) else {
            return;
        };
        entry.changed = self.changes;
        self.by_change.insert(id, entry);
    }
}

/// Adds an artifact; one with a known id is extended or replaced. Returns the number of removed bytes.
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
