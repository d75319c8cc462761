//! Publishing: check, decide, record.

mod hub_keys;
mod logged;
mod message;
mod passing;
mod quotas;
mod rights;
mod run;
mod update;

use std::sync::Arc;

use agenthub_proto::{
    a2a::Message,
    agenthub::{AgentEventMetadata, Durability, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    event::system_time,
};
use prost::Message as _;

use super::core::{Core, Draft, Now};
use crate::{
    Caller, Error,
    access::{Call, decide},
    dedupe::{self, Fingerprint, Key, Known, PublishOutcome},
    event_id,
    id::{Address, OrderKey},
    limits,
    log::Position,
    sealed::Sealed,
    segment::Segment,
};

pub(crate) use self::{
    passing::Passing,
    run::{Envelope, Run},
};

/// Content of a publish.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// A message; with a task id it creates or extends that task.
    Message(Message),
    /// The state of a task.
    Status(TaskStatusUpdateEvent),
    /// An artifact of a task.
    Artifact(TaskArtifactUpdateEvent),
}

/// Receipt of an accepted publish: its event is logged and on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// The event's id.
    pub(crate) event_id: String,
    /// Position in the log; empty for an unlogged event.
    pub(crate) position: String,
    /// The event is durable once the log is durable up to here.
    pub(crate) safe_at: Position,
    /// True if the event was published before.
    pub(crate) is_repeated: bool,
}

/// Handling of repeated publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// Identified by id. Another body with a known id is refused.
    Refuse,
    /// Rules for older clients, which may use an id for several messages: identified by idempotency key, or by id and
    /// body together unless the id contains the second in which it was made.
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

    /// Its task; empty if none.
    pub(super) fn task_id(&self) -> &str {
        self.ids().1
    }

    /// The id of its event with that number ([`dedupe::stamp`]).
    fn event_id(&self, stamp: u64) -> String {
        let (kind, about) = match self {
            Self::Message(m) => ("evt", &m.message_id),
            Self::Status(u) => ("status", &u.task_id),
            Self::Artifact(u) => ("artifact", &u.task_id),
        };
        event_id::join(kind, about, &stamp.to_string())
    }

    /// True if its event is not logged. Messages and terminal statuses of a task are always logged.
    fn may_be_lost(&self, routing: &AgentEventMetadata) -> bool {
        routing.durability() == Durability::Memory
            && match self {
                Self::Message(message) => message.task_id.is_empty(),
                Self::Status(update) => {
                    let status = update.status.as_ref();
                    status.is_none_or(|status| !status.state().is_terminal())
                }
                Self::Artifact(_) => true,
            }
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
    /// Accepts a publish or returns the reason of the refusal. All its effects, such as the end of a task, have taken
    /// place on return.
    ///
    /// # Errors
    ///
    /// See [`limits`], [`task`] and [`Repetition`].
    pub(crate) fn publish(
        &mut self,
        caller: &Caller,
        mut body: Body,
        mut routing: AgentEventMetadata,
        repetition: Repetition,
        now: Now,
    ) -> Result<Receipt, Error> {
        let call = match &body {
            Body::Message(_) => Call::PublishMessage,
            Body::Status(_) => Call::PublishTaskUpdate,
            Body::Artifact(_) => Call::PublishTaskArtifact,
        };
        decide(call, caller, &routing.namespace)?;
        self.may_be(caller, &routing.from_agent_id)?;
        let is_memory = body.may_be_lost(&routing);
        match is_memory {
            true => self
                .admit_passing(&self.order_of(&body, &routing))
                .map(drop),
            false if self.is_of_accepted(&body, &routing) => self.admit_accepted(),
            false => self.admit(),
        }?;
        body.check()?;
        if let Body::Message(message) = &mut body
            && !caller.is_unrestricted()
        {
            hub_keys::remove_reserved(message);
        }
        limits::routing(&routing)?;
        let deliver_at = routing.deliver_at.as_ref().and_then(system_time);
        if deliver_at.is_some_and(|at| at > now.time + limits::DELIVERY_AHEAD) {
            return Err(Error::InvalidArgument(
                "routing.deliver_at is more than a year ahead".to_owned(),
            ));
        }

        let known = known(&body, &routing);
        let is_new = repetition == Repetition::Accept
            && routing.idempotency_key.is_empty()
            && matches!(&body, Body::Message(m) if is_of_seconds(&m.message_id, now.unix_seconds()));
        if let Some(known) = known.as_ref().filter(|_| !is_new) {
            let publish = self.state.dedupe.fingerprint(&known.0);
            if let Some(seen) = self.seen(body.task_id(), known, publish, repetition, now)? {
                let position = self.log.id().token(seen.position);
                return Ok(Receipt {
                    is_repeated: true,
                    ..self.receipt(body.event_id(seen.stamp), position)
                });
            }
        }
        // Statuses and artifacts are told on behalf of nobody.
        if !matches!(body, Body::Message(_)) {
            routing.on_behalf_of.clear();
        }
        routing.chain.clear();
        match body {
            Body::Message(message) => {
                self.publish_message(caller, message, routing, known, is_memory, now)
            }
            Body::Status(update) => {
                self.publish_status(caller, update, routing, known, is_memory, now)
            }
            Body::Artifact(update) => {
                self.publish_artifact(caller, update, routing, known, is_memory, now)
            }
        }
    }

    /// The outcome of an earlier publish with the same key, in this task if it names one.
    ///
    /// # Errors
    ///
    /// It had another body or recipient, and that is not [accepted](Repetition::Accept).
    fn seen(
        &self,
        task: &str,
        (key, digest): &Known,
        publish: Fingerprint,
        repetition: Repetition,
        now: Now,
    ) -> Result<Option<PublishOutcome>, Error> {
        let made_task = self.state.tasks.made_by(task, publish);
        let recent = self.state.dedupe.get(publish, now.instant);
        let known = || made_task.into_iter().chain(recent);
        if let Some(seen) = known().find(|seen| seen.digest == dedupe::short(digest)) {
            return Ok(Some(seen));
        }
        if known().next().is_some() {
            if repetition == Repetition::Refuse {
                return Err(Error::AlreadyExists(format!(
                    "\"{}\" was published by \"{}\" before with another content or to another agent; every message needs an id of its own",
                    key.id, key.sender
                )));
            }
            tracing::warn!(message_id = key.id, sender = %key.sender, "message id was used before with another content or addressee: taken as another message");
        }
        Ok(None)
    }

    /// # Errors
    ///
    /// The sender has reached its limit of remembered publishes.
    fn send(
        &mut self,
        caller: &Caller,
        draft: Draft,
        is_memory: bool,
        now: Now,
    ) -> Result<Receipt, Error> {
        let event_id = draft.event.event_id.clone();
        if is_memory {
            self.metrics.events.inc();
            let event: Arc<Sealed> = Arc::new(draft.event.into());
            let order = OrderKey::of(event.context_id(), event.task_id(), event.sender());
            let ahead = self.held.last_of(&order);
            self.pass(Arc::new(Segment::of(event)), draft.route, ahead, now);
            return Ok(Receipt {
                event_id,
                position: String::new(),
                safe_at: Position(0),
                is_repeated: false,
            });
        }
        if let Some((key, _)) = &draft.key {
            self.state.dedupe.admit(&key.sender, now.instant)?;
        }
        let position = self.record_event(caller, draft, now);
        Ok(self.receipt(event_id, position))
    }

    /// True for a publish of an assignee about its open task.
    fn is_of_accepted(&self, body: &Body, routing: &AgentEventMetadata) -> bool {
        let known = self.state.tasks.get(body.task_id());
        known.is_some_and(|known| {
            !known.state().is_terminal()
                && known
                    .assignee()
                    .is_some_and(|agent| **agent == *routing.from_agent_id)
        })
    }

    /// Order key of an event before it is published.
    fn order_of(&self, body: &Body, routing: &AgentEventMetadata) -> OrderKey {
        let (context, task) = body.ids();
        let known = self.state.tasks.get(task);
        let context = known.map_or(context, |known| known.context());
        OrderKey::of(context, task, &routing.from_agent_id)
    }

    fn receipt(&self, event_id: String, position: String) -> Receipt {
        Receipt {
            event_id,
            position,
            safe_at: self.last(),
            is_repeated: false,
        }
    }

    fn recipient(&self, routing: &AgentEventMetadata) -> Option<Address> {
        let to = Some(routing.to_agent_id.as_str()).filter(|to| !to.is_empty())?;
        Some(Address::parse(to, |id| {
            self.state.registry.get(&id.into()).is_some()
        }))
    }
}

fn tasks_are_full() -> Error {
    Error::ResourceExhausted(
        "too many tasks are open; end or cancel some, or try again later".to_owned(),
    )
}

/// True if an id ends in the current second, approximately: then it does not identify the message.
fn is_of_seconds(id: &str, now: u64) -> bool {
    /// Tolerance for differing clocks and for messages that waited in their client, in seconds.
    const ABOUT: u64 = 3600;
    let end = id.rsplit(|c: char| !c.is_ascii_digit()).next();
    let seconds = end.and_then(|digits| digits.parse::<u64>().ok());
    seconds.is_some_and(|seconds| seconds.abs_diff(now) <= ABOUT)
}

/// Deduplication key of a publish. Statuses and artifacts need an explicit key.
fn known(body: &Body, routing: &AgentEventMetadata) -> Option<Known> {
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
    Some((
        Arc::new(key),
        dedupe::digest(&encoded, &routing.to_agent_id),
    ))
}
