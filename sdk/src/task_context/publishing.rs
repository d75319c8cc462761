//! Publishes of a handler: progress, artifacts and messages of its task.

use std::time::{Duration, SystemTime};

use agenthub_proto::{
    a2a::{Message, Role, TaskState, TaskStatus},
    agenthub::{
        AgentEventMetadata, Durability, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
        publish::Payload,
    },
    event::timestamp,
    json,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::TaskContext;
use crate::{ArtifactUpdate, Client, Error, TaskUpdate, agent::AGENT_TYPE, connection::publish};

impl TaskContext {
    /// Shows progress: WORKING with this text. Returns when it is under way; what becomes of it is not waited for. In a run it waits
    /// while a question to the requester is out. Without a task it does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`], [`Error::Closed`].
    pub async fn publish_update(&self, update: impl Into<TaskUpdate>) -> Result<(), Error> {
        self.may_publish()?;
        if self.task_id().is_empty() {
            return Ok(());
        }
        let update = update.into();
        let _floor = match self.inner.run.get() {
            Some(_) => Some(self.inner.floor.read().await),
            None => None,
        };
        self.may_publish()?;
        let mut message = (!update.text.is_empty()).then(|| self.message_of(&update.text));
        let mut routing = self.envelope();
        routing.durability = update.durability.into();
        let mut at = SystemTime::now();
        if let Some((key, at_ms)) = update.known {
            if let Some(message) = &mut message {
                let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes());
                message.message_id = format!("msg_{}", id.simple());
            }
            at = SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms);
            routing.idempotency_key = key;
        }
        let mut status = self.status(TaskState::Working, message, update.metadata);
        if let Some(status) = &mut status.status {
            status.timestamp = Some(timestamp(at));
        }
        let publish = publish(Payload::StatusUpdate(status), routing);
        self.client().link().post(publish, self.scope()).await
    }

    /// Shows that the work has begun: WORKING, in one frame with what the handler publishes next if that comes at once.
    pub(crate) async fn publish_begun(&self) -> Result<(), Error> {
        self.may_publish()?;
        let status = self.status(TaskState::Working, None, Map::new());
        let publish = publish(Payload::StatusUpdate(status), self.envelope());
        let link = self.client().link();
        link.post_lingering(self.task_id(), publish, self.scope())
            .await
    }

    /// Adds an artifact, or a chunk of one, to the task. Returns when the hub has it, or, if it may be lost, when it is under
    /// way. Without a task it does nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Client::publish`], and [`Error::Cancelled`].
    pub async fn publish_artifact(&self, update: impl Into<ArtifactUpdate>) -> Result<(), Error> {
        self.may_publish()?;
        if self.task_id().is_empty() {
            return Ok(());
        }
        let update = update.into();
        let mut routing = self.envelope();
        routing.durability = update.durability.into();
        let payload = Payload::ArtifactUpdate(self.artifact(update.clone()));
        if update.durability == Durability::Memory {
            let publish = publish(payload, routing);
            return self.client().link().post(publish, self.scope()).await;
        }
        let published =
            self.client()
                .publish_payload(payload, routing, self.scope(), Client::PUBLISH_DEADLINE);
        published.await.map(drop)
    }

    /// Sends a message to who asked, in the same context and task. Returns when the hub has it.
    ///
    /// # Errors
    ///
    /// Those of [`Client::publish`], and [`Error::Cancelled`].
    pub async fn publish_message(&self, message: Message) -> Result<(), Error> {
        self.may_publish()?;
        let payload = Payload::Message(self.addressed(message));
        let published = self.client().publish_payload(
            payload,
            self.reply_envelope(),
            self.scope(),
            Client::PUBLISH_DEADLINE,
        );
        published.await.map(drop)
    }

    /// A status of the task. Every one says what kind of agent reports.
    pub(crate) fn status(
        &self,
        state: TaskState,
        update: Option<Message>,
        mut metadata: Map<String, Value>,
    ) -> TaskStatusUpdateEvent {
        let agent_type = self.inner.agent_type.as_str();
        metadata.insert(AGENT_TYPE.to_owned(), agent_type.into());
        TaskStatusUpdateEvent {
            task_id: self.task_id().to_owned(),
            context_id: self.context_id().to_owned(),
            status: Some(TaskStatus {
                state: state.into(),
                update,
                timestamp: Some(timestamp(SystemTime::now())),
            }),
            r#final: state.is_terminal(),
            metadata: Some(json::to_struct(&Value::Object(metadata))),
        }
    }

    pub(crate) fn artifact(&self, update: ArtifactUpdate) -> TaskArtifactUpdateEvent {
        let mut artifact = update.artifact;
        if artifact.artifact_id.is_empty() {
            artifact.artifact_id = Uuid::now_v7().to_string();
        }
        TaskArtifactUpdateEvent {
            task_id: self.task_id().to_owned(),
            context_id: self.context_id().to_owned(),
            artifact: Some(artifact),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: None,
        }
    }

    /// A message of this agent in this context and task.
    pub(crate) fn message_of(&self, text: &str) -> Message {
        self.addressed(Message::new(Role::Agent, text))
    }

    /// The message with what it needs as an answer to this one.
    pub(crate) fn addressed(&self, mut message: Message) -> Message {
        if message.message_id.is_empty() {
            message.message_id = format!("msg_{}", Uuid::now_v7().simple());
        }
        if message.role() == Role::Unspecified {
            message.role = Role::Agent.into();
        }
        self.context_id().clone_into(&mut message.context_id);
        self.task_id().clone_into(&mut message.task_id);
        message
    }

    /// The envelope of what the task's requester is to know.
    pub(crate) fn envelope(&self) -> AgentEventMetadata {
        AgentEventMetadata {
            from_agent_id: self.client().agent_id().to_owned(),
            traceparent: self.trace().to_string(),
            tracestate: self.inner.routing.tracestate.clone(),
            priority: self.inner.routing.priority,
            ..Default::default()
        }
    }

    /// The envelope of what goes to who sent the message.
    pub(crate) fn reply_envelope(&self) -> AgentEventMetadata {
        AgentEventMetadata {
            to_agent_id: self.sender().to_owned(),
            ..self.envelope()
        }
    }
}
