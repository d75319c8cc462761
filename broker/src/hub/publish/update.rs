//! Publishing of a task update: a status or an artifact.

use agenthub_proto::{
    a2a::{TaskState, TaskStatus},
    agenthub::{
        AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, agent_event::Payload,
    },
};
use prost::Message as _;

use super::{
    super::core::{Core, Draft, Now, event},
    Receipt, tasks_are_full,
};
use crate::{
    Caller, Error,
    dedupe::Known,
    id::{AgentId, TaskId},
    routing::{Facts, Route, Wants, route},
    task::{self, Step},
    tasks,
};

/// An accepted update.
struct Update {
    task: TaskId,
    payload: Payload,
    /// True if its sender becomes the task's assignee.
    claims: bool,
    /// True if its event is not logged.
    is_memory: bool,
}

impl Core {
    pub(super) fn publish_status(
        &mut self,
        caller: &Caller,
        update: TaskStatusUpdateEvent,
        routing: AgentEventMetadata,
        key: Option<Known>,
        is_memory: bool,
        now: Now,
    ) -> Result<Receipt, Error> {
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let task = TaskId::from(update.task_id.as_str());
        let known = self.known_task(caller, &task)?;
        self.may_update(caller, known, &routing)?;
        let next = update.status.as_ref().map_or(0, |s| s.state);
        let next = TaskState::try_from(next).map_err(|_| {
            Error::InvalidArgument(format!("update.status.state: {next} is no known value"))
        })?;
        let standing = known.standing(now.time, self.settings.late_artifacts);
        let claims = match task::report(&standing, next, &sender)? {
            Step::Repeated => return Ok(self.receipt(String::new(), String::new())),
            Step::Change { claims } => claims,
        };
        let by_requester = known.assignee() != Some(&sender) && !claims;
        let context_id = known.context().to_owned();
        if !by_requester && self.reporting.len() < self.settings.agents {
            self.reporting.insert(sender);
        }
        let update = TaskStatusUpdateEvent {
            context_id,
            status: update.status.map(|status| TaskStatus {
                timestamp: status
                    .timestamp
                    .or(Some(agenthub_proto::event::timestamp(now.time))),
                ..status
            }),
            r#final: update.r#final || next.is_terminal(),
            ..update
        };
        let update = Update {
            task: task.clone(),
            payload: Payload::StatusUpdate(update),
            claims,
            is_memory,
        };
        let receipt = self.publish_update(caller, update, routing, key, now)?;
        if next.is_terminal() && by_requester {
            self.stop_work(&task, "its requester cancelled it");
        }
        Ok(receipt)
    }

    pub(super) fn publish_artifact(
        &mut self,
        caller: &Caller,
        update: TaskArtifactUpdateEvent,
        routing: AgentEventMetadata,
        key: Option<Known>,
        is_memory: bool,
        now: Now,
    ) -> Result<Receipt, Error> {
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let task = TaskId::from(update.task_id.as_str());
        let known = self.known_task(caller, &task)?;
        self.may_update(caller, known, &routing)?;
        let standing = known.standing(now.time, self.settings.late_artifacts);
        let claims = task::add_artifact(&standing, &sender)?;
        if !self.state.tasks.has_room() {
            return Err(tasks_are_full());
        }
        if known.bytes() + update.encoded_len() > self.settings.task_bytes {
            return Err(Error::InvalidArgument(format!(
                "task \"{task}\" would be larger than {} bytes with this artifact; send large content as a file part with a URI",
                self.settings.task_bytes
            )));
        }
        let update = TaskArtifactUpdateEvent {
            context_id: known.context().to_owned(),
            ..update
        };
        let update = Update {
            task,
            payload: Payload::ArtifactUpdate(update),
            claims,
            is_memory,
        };
        self.publish_update(caller, update, routing, key, now)
    }

    fn publish_update(
        &mut self,
        caller: &Caller,
        update: Update,
        routing: AgentEventMetadata,
        key: Option<Known>,
        now: Now,
    ) -> Result<Receipt, Error> {
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let draft = Draft {
            route: self.task_route(&update.task, &sender, &routing),
            event: event(update.payload, Some(routing), now),
            assignee: update.claims.then_some(sender),
            passes_by: false,
            key,
        };
        self.send(caller, draft, update.is_memory, now)
    }

    /// The task, if the caller may know that it is there. One that nobody has yet is anybody's to take.
    fn known_task(&self, caller: &Caller, id: &TaskId) -> Result<tasks::Known<'_>, Error> {
        let may_know =
            |task: &tasks::Known<'_>| task.assignee().is_none() || self.sees(caller, *task);
        self.state.tasks.get(id).filter(may_know).ok_or_else(|| {
            Error::NotFound(format!(
                "task not found: \"{id}\" (a message with its task_id makes a task)"
            ))
        })
    }

    /// The route of a status or an artifact.
    fn task_route(&self, task: &TaskId, sender: &AgentId, routing: &AgentEventMetadata) -> Route {
        let facts = Facts {
            sender: sender.clone(),
            recipient: self.recipient(routing),
            task: self.state.tasks.get(task).map(tasks::Known::parties),
            wants_one: false,
            wants: Wants::default(),
            matching_only: false,
        };
        let mut decided = route(&facts, |_| Vec::new());
        // The requester of the task is always among the recipients.
        if let (Route::To(to), Some(task)) = (&mut decided, &facts.task) {
            let requester = &task.requester;
            if requester != sender
                && !requester.is_empty()
                && to.iter().all(|a| a.agent != *requester)
            {
                to.push(requester.clone().into());
            }
        }
        decided
    }
}
