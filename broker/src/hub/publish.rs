//! Publishing: check, decide, record.

use std::sync::Arc;

use agenthub_proto::{
    a2a::{Message, TaskState, TaskStatus},
    agenthub::{
        AgentEventMetadata, Durability, EventKind, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
        agent_event::Payload,
    },
    event::system_time,
};
use prost::Message as _;

use super::core::{Core, Now, event};
use crate::{
    Error,
    access::{Call, decide},
    caller::Caller,
    dedupe::{self, Key},
    id::{Address, AgentId, OrderKey, TaskId},
    limits,
    log::{Position, Published},
    routing::{Candidate, Facts, Route, Wants, route},
    task::{self, Extension, Step},
};

/// What can be published.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// A message, which with a task id creates or extends that task.
    Message(Message),
    /// The state of a task.
    Status(TaskStatusUpdateEvent),
    /// A result of a task.
    Artifact(TaskArtifactUpdateEvent),
}

/// A publish was accepted: its event is in the log and on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// The event's id.
    pub(crate) event_id: String,
    /// Where it stands in the log; empty for one that may be lost.
    pub(crate) position: String,
    /// It is safe when the log is safe that far.
    pub(crate) safe_at: Position,
}

/// What to do about another body under a known id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// It is refused.
    Refuse,
    /// It is another event: older clients make their ids from seconds.
    Accept,
}

impl Body {
    fn ids(&self) -> (&str, &str) {
        match self {
            Self::Message(m) => (&m.context_id, &m.task_id),
            Self::Status(u) => (&u.context_id, &u.task_id),
            Self::Artifact(u) => (&u.context_id, &u.task_id),
        }
    }

    /// The task that it belongs to; empty if none.
    pub(super) fn task_id(&self) -> &str {
        self.ids().1
    }

    fn check(&self) -> Result<(), Error> {
        match self {
            Self::Message(message) => limits::message(message),
            Self::Status(update) => {
                limits::size("status update", update.encoded_len())?;
                limits::required("update.task_id", &update.task_id)?;
                limits::id("update.task_id", &update.task_id)?;
                limits::metadata("update.metadata", update.metadata.as_ref())?;
                let said = update.status.as_ref().and_then(|s| s.update.as_ref());
                said.map_or(Ok(()), |said| {
                    limits::metadata("update.status.update.metadata", said.metadata.as_ref())?;
                    limits::parts("update.status.update.content", &said.content)
                })
            }
            Self::Artifact(update) => {
                limits::size("artifact update", update.encoded_len())?;
                limits::required("artifact.task_id", &update.task_id)?;
                limits::id("artifact.task_id", &update.task_id)?;
                limits::metadata("artifact.metadata", update.metadata.as_ref())?;
                update.artifact.as_ref().map_or(
                    Err(Error::InvalidArgument(
                        "artifact.artifact is required".to_owned(),
                    )),
                    limits::artifact,
                )
            }
        }
    }
}

impl Core {
    /// Accepts a publish or says why not. What it brings about, such as the end of a task, has happened when this returns.
    ///
    /// # Errors
    ///
    /// See [`limits`], [`task`] and [`Repetition`].
    pub(crate) fn publish(
        &mut self,
        caller: &Caller,
        body: Body,
        routing: AgentEventMetadata,
        repetition: Repetition,
        now: Now,
    ) -> Result<Receipt, Error> {
        let call = match &body {
            Body::Message(_) => Call::PublishMessage,
            Body::Status(_) => Call::PublishTaskUpdate,
            Body::Artifact(_) => Call::PublishTaskArtifact,
        };
        decide(call, caller, &routing.namespace)?;
        self.log.admit()?;
        body.check()?;
        limits::routing(&routing)?;
        let deliver_at = routing.deliver_at.as_ref().and_then(system_time);
        if deliver_at.is_some_and(|at| at > now.time + limits::DELIVERY_AHEAD) {
            return Err(Error::InvalidArgument(
                "routing.deliver_at is more than a year ahead".to_owned(),
            ));
        }

        let key = key(&body, &routing);
        if let Some((key, digest)) = &key {
            let made_task = self.state.tasks.made_by(body.task_id(), key);
            let recent = self.state.dedupe.get(key, now.instant);
            let known = || made_task.into_iter().chain(recent);
            if let Some(seen) = known().find(|seen| seen.digest == *digest) {
                return Ok(self.receipt(seen.event_id.clone(), seen.position.clone()));
            }
            if known().next().is_some() {
                if repetition == Repetition::Refuse {
                    return Err(Error::AlreadyExists(format!(
                        "\"{}\" was published by \"{}\" before with another content; every message needs an id of its own",
                        key.id, key.sender
                    )));
                }
                tracing::warn!(message_id = key.id, sender = %key.sender, "message id was used before with another content: taken as another message");
            }
        }
        match body {
            Body::Message(message) => self.publish_message(caller, message, routing, key, now),
            Body::Status(update) => self.publish_status(caller, update, routing, key, now),
            Body::Artifact(update) => self.publish_artifact(caller, update, routing, key, now),
        }
    }

    fn publish_message(
        &mut self,
        caller: &Caller,
        message: Message,
        routing: AgentEventMetadata,
        key: Option<(Key, uuid::Uuid)>,
        now: Now,
    ) -> Result<Receipt, Error> {
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let task_id = TaskId::from(message.task_id.as_str());
        let known = self.state.tasks.get(&task_id);
        let mut extension = Extension::Join;
        if let Some(known) = known {
            if !message.context_id.is_empty() && message.context_id != known.context() {
                return Err(Error::InvalidArgument(format!(
                    "message.context_id is \"{}\", but task \"{task_id}\" belongs to context \"{}\"",
                    message.context_id,
                    known.context()
                )));
            }
            if !self.state.tasks.has_room() {
                return Err(tasks_are_full());
            }
            if known.bytes() + message.encoded_len() > self.settings.task_bytes {
                return Err(Error::ResourceExhausted(format!(
                    "task \"{task_id}\" would be larger than {} bytes with this message; go on in another task",
                    self.settings.task_bytes
                )));
            }
            extension = task::extend(
                &known.standing(now.time, self.settings.late_artifacts),
                message.role(),
                &sender,
            )?;
        } else if let Some(deadline) = &routing.deadline {
            let deadline = system_time(deadline).ok_or_else(|| {
                Error::InvalidArgument("routing.deadline is no time after 1970".to_owned())
            })?;
            if !task_id.is_empty() && deadline <= now.time {
                return Err(Error::FailedPrecondition(
                    "routing.deadline has passed already".to_owned(),
                ));
            }
        }

        let is_new = known.is_none() && !task_id.is_empty();
        if is_new && !self.state.tasks.has_room_for_another() {
            return Err(tasks_are_full());
        }
        let message = Message {
            context_id: known.map_or(message.context_id, |k| k.context().to_owned()),
            ..message
        };
        let facts = Facts {
            sender: sender.clone(),
            recipient: self.recipient(&routing),
            task: known.map(|k| k.parties()),
            wants_one: !task_id.is_empty(),
            wants: Wants {
                topics: [message.task_type()]
                    .into_iter()
                    .chain(routing.subscriptions.iter().map(String::as_str))
                    .filter(|t| !t.is_empty())
                    .collect(),
                tags: &routing.required_tags,
                input_modes: &routing.required_input_modes,
                output_modes: &routing.required_output_modes,
            },
        };
        let route = route(&facts, |wants| self.candidates(wants));
        let assignee = match (&route, &extension) {
            (Route::To(to), _) if is_new => to.first().map(|a| a.agent.clone()),
            (_, Extension::Answer { claims: true }) => Some(sender.clone()),
            _ => None,
        };
        let is_memory = routing.durability() == Durability::Memory && task_id.is_empty();
        let published = Published {
            event: Arc::new(event(
                Payload::Message(message.clone()),
                Some(routing.clone()),
                now,
            )),
            route: route.clone(),
            assignee,
            passes_by: extension == Extension::Pass,
            key,
        };
        let receipt = self.send(caller, published, is_memory, now);

        if !task_id.is_empty() {
            self.send_task(caller, &task_id, &route, &sender, &routing, now);
        }
        if let Extension::Answer { .. } = extension {
            self.complete(&task_id, TaskState::Completed, message, now);
        }
        Ok(receipt)
    }

    fn publish_status(
        &mut self,
        caller: &Caller,
        update: TaskStatusUpdateEvent,
        routing: AgentEventMetadata,
        key: Option<(Key, uuid::Uuid)>,
        now: Now,
    ) -> Result<Receipt, Error> {
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let task_id = TaskId::from(update.task_id.as_str());
        let known = self.known_task(&task_id)?;
        let next = update.status.as_ref().map_or(0, |s| s.state);
        let next = TaskState::try_from(next).map_err(|_| {
            Error::InvalidArgument(format!("update.status.state: {next} is no known value"))
        })?;
        let step = task::report(
            &known.standing(now.time, self.settings.late_artifacts),
            next,
            &sender,
        )?;
        let claims = match step {
            Step::Repeated => {
                return Ok(self.receipt(String::new(), String::new()));
            }
            Step::Change { claims } => claims,
        };
        let by_requester = known.assignee() != Some(&sender) && !claims;
        let update = TaskStatusUpdateEvent {
            context_id: known.context().to_owned(),
            status: update.status.map(|status| TaskStatus {
                timestamp: status
                    .timestamp
                    .or(Some(agenthub_proto::event::timestamp(now.time))),
                ..status
            }),
            r#final: update.r#final || next.is_terminal(),
            ..update
        };
        let is_memory = routing.durability() == Durability::Memory && !next.is_terminal();
        let published = Published {
            route: self.task_route(&task_id, &sender, &routing),
            event: Arc::new(event(Payload::StatusUpdate(update), Some(routing), now)),
            assignee: claims.then_some(sender),
            passes_by: false,
            key,
        };
        let receipt = self.send(caller, published, is_memory, now);
        if next.is_terminal() {
            self.cancelling.ended(&task_id);
        }
        if next.is_terminal() && by_requester {
            self.stop_work(&task_id, "its requester cancelled it");
        }
        Ok(receipt)
    }

    fn publish_artifact(
        &mut self,
        caller: &Caller,
        update: TaskArtifactUpdateEvent,
        routing: AgentEventMetadata,
        key: Option<(Key, uuid::Uuid)>,
        now: Now,
    ) -> Result<Receipt, Error> {
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let task_id = TaskId::from(update.task_id.as_str());
        let known = self.known_task(&task_id)?;
        let claims = task::add_artifact(
            &known.standing(now.time, self.settings.late_artifacts),
            &sender,
        )?;
        if !self.state.tasks.has_room() {
            return Err(tasks_are_full());
        }
        if known.bytes() + update.encoded_len() > self.settings.task_bytes {
            return Err(Error::ResourceExhausted(format!(
                "task \"{task_id}\" would be larger than {} bytes with this artifact; send large content as a file part with a URI",
                self.settings.task_bytes
            )));
        }
        let update = TaskArtifactUpdateEvent {
            context_id: known.context().to_owned(),
            ..update
        };
        let is_memory = routing.durability() == Durability::Memory;
        let published = Published {
            route: self.task_route(&task_id, &sender, &routing),
            event: Arc::new(event(Payload::ArtifactUpdate(update), Some(routing), now)),
            assignee: claims.then_some(sender),
            passes_by: false,
            key,
        };
        Ok(self.send(caller, published, is_memory, now))
    }

    /// The whole task as an event of its own, for those who subscribed to tasks.
    fn send_task(
        &mut self,
        caller: &Caller,
        task_id: &TaskId,
        route: &Route,
        sender: &AgentId,
        routing: &AgentEventMetadata,
        now: Now,
    ) {
        if !self.state.mailboxes.wanted(EventKind::Task, route, sender) {
            return;
        }
        let Some(task) = self.state.tasks.get(task_id) else {
            return;
        };
        let payload = Payload::Task(task.task().clone());
        let published = Published {
            event: Arc::new(event(payload, Some(routing.clone()), now)),
            route: route.clone(),
            assignee: None,
            passes_by: false,
            key: None,
        };
        self.record_event(caller, published, now);
    }

    fn send(
        &mut self,
        caller: &Caller,
        published: Published,
        is_memory: bool,
        now: Now,
    ) -> Receipt {
        let event_id = published.event.event_id.clone();
        if is_memory {
            self.counters.events.inc();
            self.deliver_unlogged(published);
            return Receipt {
                event_id,
                position: String::new(),
                safe_at: Position(0),
            };
        }
        let position = self.record_event(caller, published, now);
        self.receipt(event_id, position)
    }

    fn receipt(&self, event_id: String, position: String) -> Receipt {
        Receipt {
            event_id,
            position,
            safe_at: self.last(),
        }
    }

    fn known_task(&self, id: &TaskId) -> Result<&crate::tasks::Entry, Error> {
        self.state.tasks.get(id).ok_or_else(|| {
            Error::NotFound(format!(
                "task not found: \"{id}\" (a message with its task_id makes a task)"
            ))
        })
    }

    fn recipient(&self, routing: &AgentEventMetadata) -> Option<Address> {
        let to = Some(routing.to_agent_id.as_str()).filter(|to| !to.is_empty())?;
        Some(Address::parse(to, |id| {
            self.state.registry.get(&id.into()).is_some()
        }))
    }

    /// Whom a status or an artifact is for.
    fn task_route(&self, task: &TaskId, sender: &AgentId, routing: &AgentEventMetadata) -> Route {
        let facts = Facts {
            sender: sender.clone(),
            recipient: self.recipient(routing),
            task: self.state.tasks.get(task).map(crate::tasks::Entry::parties),
            wants_one: false,
            wants: Wants::default(),
        };
        let mut decided = route(&facts, |_| Vec::new());
        // Whoever is named, the one who asked for the task hears of it.
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

    fn candidates(&self, wants: &Wants<'_>) -> Vec<Candidate> {
        let able = self.state.registry.able(wants).into_iter();
        able.map(|agent| Candidate {
            online: self.presence.is_online(&agent),
            in_flight: self.state.tasks.in_flight(&agent),
            agent,
        })
        .collect()
    }
}

fn tasks_are_full() -> Error {
    Error::ResourceExhausted(
        "too many tasks are open; end or cancel some, or try again later".to_owned(),
    )
}

/// As what a publish is known when it comes again. Statuses and artifacts need a key of their own for that.
fn key(body: &Body, routing: &AgentEventMetadata) -> Option<(Key, uuid::Uuid)> {
    let id = match (body, routing.idempotency_key.as_str()) {
        (Body::Message(m), "") => &m.message_id,
        (_, "") => return None,
        (_, key) => key,
    };
    let (context, task) = body.ids();
    let key = Key {
        sender: routing.from_agent_id.as_str().into(),
        order: OrderKey::of(context, task, &routing.from_agent_id),
        id: id.to_owned(),
    };
    let encoded = match body {
        Body::Message(m) => m.encode_to_vec(),
        Body::Status(u) => u.encode_to_vec(),
        Body::Artifact(u) => u.encode_to_vec(),
    };
    Some((key, dedupe::digest(&encoded)))
}
