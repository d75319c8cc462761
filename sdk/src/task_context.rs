//! The task that a handler works on, and the calls it can make meanwhile.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{Message, Role, TaskState, TaskStatus},
    agenthub::{
        AgentEventMetadata, Durability, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
        publish::Payload,
    },
    event::{system_time, timestamp},
    json,
    trace::TraceContext,
};
use agenthub_runs::{Budget, RunId};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    Agent, AgentType, ArtifactUpdate, Client, Delegation, Error, MAX_HOPS, Outcome, Pending,
    TaskUpdate,
    agent::{AGENT_TYPE, LentSlot, Slots, StopSignal},
    connection::{Scope, publish},
    correlation, usage,
};

/// The message that a handler was called with, and its task. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskContext {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) message: Message,
    pub(crate) routing: AgentEventMetadata,
    pub(crate) attempt: u32,
    pub(crate) trace: TraceContext,
    pub(crate) client: Client,
    pub(crate) signal: Arc<StopSignal>,
    pub(crate) slots: Arc<Slots>,
    /// What is published for the task is of use there.
    pub(crate) scope: Scope,
    pub(crate) agent_type: AgentType,
    /// The run of this message began earlier, perhaps in another process.
    pub(crate) is_taken_up: bool,
    /// The run of this message, if it is one.
    pub(crate) run: OnceLock<RunId>,
}

impl TaskContext {
    /// The message.
    pub fn message(&self) -> &Message {
        &self.inner.message
    }

    /// The message's text parts, one under the other.
    pub fn text(&self) -> String {
        self.inner.message.text()
    }

    /// The message's first data part.
    pub fn data(&self) -> Option<Value> {
        self.inner.message.data().next()
    }

    /// The task type; empty if the message has none.
    pub fn task_type(&self) -> &str {
        self.inner.message.task_type()
    }

    /// The task; empty if the message belongs to none.
    pub fn task_id(&self) -> &str {
        &self.inner.message.task_id
    }

    /// The conversation; empty if the message belongs to none.
    pub fn context_id(&self) -> &str {
        &self.inner.message.context_id
    }

    /// Id of the request at the beginning of all this, in every process that does something for it: the message's `correlation_id`,
    /// or else its task, or the message itself. Delegations on behalf of this task carry it on.
    pub fn correlation_id(&self) -> &str {
        correlation::of(self.message())
    }

    /// Sender of the message; empty if unknown.
    pub fn sender(&self) -> &str {
        &self.inner.routing.from_agent_id
    }

    /// Envelope of the message: sender, recipient, hops, deadline.
    pub fn routing(&self) -> &AgentEventMetadata {
        &self.inner.routing
    }

    /// 1 on the first delivery; more if an earlier one was not brought to an end.
    pub fn attempt(&self) -> u32 {
        self.inner.attempt
    }

    /// Time at which the hub will fail the task, by the clock of this machine.
    pub fn deadline(&self) -> Option<SystemTime> {
        system_time(self.inner.routing.deadline.as_ref()?)
    }

    /// Budget that the requester grants this task and everything that it leads to; its time is what is left until the deadline.
    pub fn budget(&self) -> Budget {
        let left = |at: SystemTime| at.duration_since(self.client().now()).unwrap_or_default();
        Budget {
            time_ms: self
                .deadline()
                .map(|at| u64::try_from(left(at).as_millis()).unwrap_or(u64::MAX)),
            ..self.granted()
        }
    }

    /// The same without the time, as it was sent.
    pub(crate) fn granted(&self) -> Budget {
        usage::from_wire(self.inner.routing.budget.as_ref())
    }

    /// The run that a [`Conductor`](crate::Conductor) makes of this message, or would.
    pub fn run_id(&self) -> RunId {
        let derived = || {
            let Message {
                task_id,
                message_id,
                ..
            } = self.message();
            Agent::run_of(self.client().agent_id(), task_id, message_id)
        };
        self.inner.run.get().cloned().unwrap_or_else(derived)
    }

    /// Says which run it is. Only the first one counts.
    pub(crate) fn is_run(&self, run: &RunId) {
        self.inner.run.get_or_init(|| run.clone());
    }

    /// True if the run of this message was taken up, and began earlier.
    pub fn is_taken_up(&self) -> bool {
        self.inner.is_taken_up
    }

    /// The place in the trace that this handling is.
    pub fn trace(&self) -> TraceContext {
        self.inner.trace
    }

    /// The agent's connection. What is published with it is not bound to this task.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Cancelled when the task was cancelled or its deadline has passed. The handler is dropped 5 s later, and nothing that it
    /// still publishes leaves the agent.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.signal.token
    }

    /// Waits for [`cancellation`](Self::cancellation).
    pub async fn cancelled(&self) {
        self.cancellation().cancelled().await;
    }

    /// Shows progress: WORKING with this text. Returns when it is under way; what becomes of it is not waited for. Without a task it
    /// does nothing.
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

    /// Asks an agent on behalf of this task, and waits for what becomes of it.
    ///
    /// # Errors
    ///
    /// Those of [`delegate`](Self::delegate) and [`Pending::outcome`].
    pub async fn ask(
        &self,
        agent: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Outcome, Error> {
        let delegation = Delegation::to(agent).text(text);
        self.delegate(delegation).await?.outcome().await
    }

    /// Hands work to an agent on behalf of this task: in its context unless another is given, within its deadline and budget, and as part
    /// of its trace. When this task is cancelled, [`Pending::outcome`] cancels the other and returns [`Error::Cancelled`].
    ///
    /// # Errors
    ///
    /// Those of [`Client::delegate`], and [`Error::Cancelled`].
    pub async fn delegate(&self, delegation: Delegation) -> Result<Pending, Error> {
        self.may_publish()?;
        let delegation = self.on_behalf(delegation, self.client().now())?;
        let mut pending = self.client().delegate(delegation).await?;
        pending.parent = Some(self.clone());
        Ok(pending)
    }

    /// Fills in what a delegation inherits from this task.
    fn on_behalf(&self, mut delegation: Delegation, now: SystemTime) -> Result<Delegation, Error> {
        let own = &self.inner.routing;
        delegation.hops = delegation.hops.max(own.hops.saturating_add(1));
        if delegation.hops > MAX_HOPS {
            return Err(Error::TooManyHops {
                task_id: self.task_id().to_owned(),
                max: MAX_HOPS,
            });
        }
        if delegation.context_id.is_empty() {
            self.context_id().clone_into(&mut delegation.context_id);
        }
        if delegation.parent_task_id.is_empty() {
            self.task_id().clone_into(&mut delegation.parent_task_id);
        }
        if let Some(deadline) = self.deadline() {
            let left = deadline.duration_since(now).unwrap_or(Duration::ZERO);
            delegation.timeout = delegation.timeout.min(left);
        }
        let granted = self.granted();
        let depth = match granted.depth {
            Some(0) => {
                return Err(Error::Denied(
                    "the budget of this task does not allow it to delegate".to_owned(),
                ));
            }
            depth => depth.map(|depth| depth - 1),
        };
        delegation.budget = delegation.budget.within(Budget { depth, ..granted });
        delegation.trace = Some(delegation.trace.unwrap_or_else(|| self.trace()));
        Ok(delegation.metadata(correlation::KEY, self.correlation_id()))
    }

    /// Lets the agent take another message while this handler waits.
    pub(crate) async fn lend_slot(&self) -> Option<LentSlot> {
        self.inner.slots.lend().await
    }

    /// Refuses once the task is no longer this handler's.
    pub(crate) fn may_publish(&self) -> Result<(), Error> {
        match self.inner.signal.why() {
            Some(why) => Err(Error::Cancelled(why.to_string())),
            None => Ok(()),
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        self.inner.scope
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
