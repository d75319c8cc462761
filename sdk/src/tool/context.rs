//! Context of a tool's call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_proto::a2a::{Message, TaskState};
use agenthub_runs::{Budget, StepContext, model::ToolCall};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Error, Reply, TaskContext, TaskUpdate};

/// Context of a tool's call. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolContext {
    step: StepContext,
    task: TaskContext,
    tool: String,
    call_id: String,
    arguments: Value,
    /// Questions of this call so far.
    asked: Arc<AtomicU32>,
}

impl ToolContext {
    pub(crate) fn new(step: &StepContext, task: &TaskContext, call: &ToolCall) -> Self {
        Self {
            step: step.clone(),
            task: task.clone(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
            arguments: call.arguments.clone(),
            asked: Arc::default(),
        }
    }

    /// The task that the agent works on; empty if the message belongs to none.
    pub fn task_id(&self) -> &str {
        self.task.task_id()
    }

    /// The conversation; empty if the message belongs to none.
    pub fn context_id(&self) -> &str {
        self.task.context_id()
    }

    /// Requester of the agent; empty if unknown.
    pub fn requester(&self) -> &str {
        self.task.sender()
    }

    /// The data that came with the request, if any.
    pub fn data(&self) -> Option<Value> {
        self.task.data()
    }

    /// The same whenever this call is made, and only then: pass it on to what must not happen twice.
    pub fn idempotency_key(&self) -> String {
        self.step.key.message_id().to_string()
    }

    /// Time at which the call is given up.
    pub fn deadline(&self) -> Option<SystemTime> {
        let since = Duration::from_millis(self.step.deadline_ms?);
        UNIX_EPOCH.checked_add(since)
    }

    /// Budget that the agent has left for this task, besides what is reserved for calls that are out. Its time is [`deadline`](Self::deadline).
    pub fn budget(&self) -> Budget {
        Budget {
            time_ms: None,
            ..self.step.left
        }
    }

    /// Cancelled when nobody wants the result any more; the call is dropped 5 s later. Cancelled also when its agent stops and the
    /// [time for that](crate::AgentBuilder::drain_timeout) is over; the call is dropped 500 ms later then, and made again, under the same
    /// [key](Self::idempotency_key), where the run goes on.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.step.cancelled
    }

    /// Waits for [`cancellation`](Self::cancellation).
    pub async fn cancelled(&self) {
        self.step.cancelled.cancelled().await;
    }

    /// Asks the requester of the agent, and waits for the answer: the task is INPUT_REQUIRED until it comes, and other questions of the run
    /// wait for their turn. The call takes none of the agent's places meanwhile.
    ///
    /// Question and answer outlive this process: where the call is made again, its questions, which are known by their order, are not
    /// asked again, and get the answers that came.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where nobody can be asked: the message belongs to no task, or the agent began the run itself.
    /// [`Error::Cancelled`] when the task has ended meanwhile; the hub's refusal.
    pub async fn ask_requester(&self, question: impl Into<Reply>) -> Result<Message, Error> {
        self.ask(question.into(), TaskState::InputRequired).await
    }

    /// Does the same with AUTH_REQUIRED, as [`TaskContext::ask_auth`].
    ///
    /// # Errors
    ///
    /// Those of [`ask_requester`](Self::ask_requester).
    pub async fn ask_auth(&self, explanation: impl Into<Reply>) -> Result<Message, Error> {
        self.ask(explanation.into(), TaskState::AuthRequired).await
    }

    async fn ask(&self, question: Reply, state: TaskState) -> Result<Message, Error> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let (run, step) = (&self.step.key.run, &self.step.key.step);
        // A run that is not written down may call something else in this place when it begins again.
        let key = format!("{run}/{step}/{}/{}/{number}", self.tool, self.arguments);
        self.task.ask_in_run(&key, question, state).await
    }

    /// Shows how far it is, to those who watch the task.
    ///
    /// # Errors
    ///
    /// Those of [`TaskContext::publish_update`].
    pub async fn progress(&self, text: impl Into<String>) -> Result<(), Error> {
        let tool = json!({ "name": self.tool, "callId": self.call_id });
        let update = TaskUpdate::new(text).metadata("tool", tool);
        self.task.publish_update(update).await
    }
}
