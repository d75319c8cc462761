//! A task without a hub.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{Artifact, Message, Part, Role},
    agenthub::{AgentEventMetadata, Publish, publish::Payload},
    event::timestamp,
    trace::TraceContext,
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    AgentBuilder, AgentType, Client, Error, Failure, Published, Reply, TaskContext,
    agent::{self, Asked, Slots, StopReason, StopSignal},
    assemble,
    connection::Scope,
    task_context::Inner,
};

/// A task as a handler gets it, without a hub: what the handler shows is kept for the test to [see](Self::seen). Work that it hands to
/// other agents is refused, as there are none: such an agent is tested on a [`TestHub`](super::TestHub).
#[derive(Debug)]
pub struct FakeTask {
    message: Message,
    routing: AgentEventMetadata,
    attempt: u32,
    client: Client,
    signal: Arc<StopSignal>,
    slots: Arc<Slots>,
    published: Record,
    /// Answers to the handler's questions.
    answers: Vec<Message>,
}

/// Publishes in their order.
type Record = Arc<Mutex<Vec<Payload>>>;

/// Record of what a handler has shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskTranscript {
    /// The words of the updates, in their order.
    pub updates: Vec<String>,
    /// The metadata of all status updates.
    pub metadata: Vec<Value>,
    /// The artifacts, as far as they have come.
    pub artifacts: Vec<Artifact>,
    /// Messages to the requester.
    pub messages: Vec<Message>,
}

impl FakeTask {
    /// A task with this request, from `tester`. Call it within a tokio runtime.
    pub fn new(text: impl Into<String>) -> Self {
        let mut message = Message::new(Role::User, text);
        message.message_id = format!("msg_{}", Uuid::now_v7().simple());
        message.task_id = Uuid::now_v7().to_string();
        message.context_id = Uuid::now_v7().to_string();
        let published = Record::default();
        let (kept, task_id) = (Arc::clone(&published), message.task_id.clone());
        let client = Client::without_hub(move |publish| take(&kept, &task_id, publish));
        Self {
            routing: AgentEventMetadata {
                from_agent_id: "tester".to_owned(),
                to_agent_id: client.agent_id().to_owned(),
                ..Default::default()
            },
            message,
            attempt: 1,
            signal: Arc::default(),
            slots: Slots::new(client.link().clone(), 1),
            client,
            published,
            answers: Vec::new(),
        }
    }

    /// The same with data.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.message.content.push(Part::data(&data.into()));
        self
    }

    /// The same for a skill or task type.
    #[must_use]
    pub fn task_type(mut self, task_type: impl Into<String>) -> Self {
        let task_type: String = task_type.into();
        self.message = self.message.with_metadata("task_type", task_type.as_str());
        self
    }

    /// The same, asked by this agent.
    #[must_use]
    pub fn from(mut self, sender: impl Into<String>) -> Self {
        self.routing.from_agent_id = sender.into();
        self
    }

    /// The same with so much time.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.routing.deadline = Some(timestamp(SystemTime::now() + time));
        self
    }

    /// The same as this delivery of it, from 1.
    #[must_use]
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// The same with this answer to the handler's next question: [`TaskContext::ask_requester`] returns it at once.
    #[must_use]
    pub fn answer(mut self, text: impl Into<String>) -> Self {
        self.answers.push(Message::new(Role::User, text));
        self
    }

    /// The context that a handler is called with.
    pub fn context(&self) -> TaskContext {
        let context = TaskContext {
            inner: Arc::new(Inner {
                message: self.message.clone(),
                routing: self.routing.clone(),
                attempt: self.attempt,
                trace: TraceContext::parse_or_start(""),
                client: self.client.clone(),
                signal: Arc::clone(&self.signal),
                slots: Arc::clone(&self.slots),
                scope: Scope::Any,
                agent_type: AgentType::Worker,
                is_taken_up: false,
                run: OnceLock::new(),
                position: OnceLock::new(),
                asked: Asked::default(),
                questions: Arc::default(),
                follow_ups: Arc::default(),
                used: Mutex::default(),
                floor: tokio::sync::RwLock::default(),
            }),
        };
        context.inner.asked.know(self.answers.iter().cloned());
        context
    }

    /// Calls the handler that an agent has for it.
    ///
    /// # Errors
    ///
    /// The handler's failure; that there is none; that a model would answer, which takes a [`TestHub`](super::TestHub).
    pub async fn given_to(&self, agent: AgentBuilder) -> Result<Reply, Failure> {
        let function = agent::function_for(agent, &self.message, &self.routing)?;
        function(self.context()).await
    }

    /// Cancels it, as its requester would: [`TaskContext::cancelled`] returns.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.signal.stop(StopReason::Cancelled(reason.into()));
    }

    /// The record so far.
    pub async fn seen(&self) -> TaskTranscript {
        // Behind all that is under way. An error says that the client is closed: then nothing is.
        let _ = self
            .client
            .link()
            .publish(Vec::new(), None, Scope::Any)
            .await;
        let published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut seen = TaskTranscript::default();
        for payload in published.iter() {
            match payload {
                Payload::StatusUpdate(update) => {
                    let text = update.status.as_ref().map(|status| status.text());
                    seen.updates.extend(text.filter(|text| !text.is_empty()));
                    let metadata = update.metadata.as_ref();
                    seen.metadata
                        .extend(metadata.map(agenthub_proto::json::from_struct));
                }
                Payload::ArtifactUpdate(update) => assemble(&mut seen.artifacts, update),
                Payload::Message(message) => seen.messages.push(message.clone()),
            }
        }
        seen
    }
}

/// Keeps what was published for the task.
fn take(kept: &Record, own_task: &str, publish: Publish) -> Result<Published, Error> {
    let Some(payload) = publish.payload else {
        return Err(Error::Invalid("there is nothing in it".to_owned()));
    };
    if let Payload::Message(message) = &payload
        && !message.task_id.is_empty()
        && message.task_id != own_task
    {
        let why = "a fake task has no other agents: start the agent on a TestHub";
        return Err(Error::NotFound(why.to_owned()));
    }
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(payload);
    Ok(Published {
        event_id: Uuid::now_v7().to_string(),
        position: String::new(),
    })
}
