//! Context of a tool's call.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenthub_runs::{Budget, StepContext, model::ToolCall};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Error, TaskContext, TaskUpdate};

/// Context of a tool's call. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolContext {
    step: StepContext,
    task: TaskContext,
    tool: String,
    call_id: String,
}

impl ToolContext {
    pub(crate) fn new(step: &StepContext, task: &TaskContext, call: &ToolCall) -> Self {
        Self {
            step: step.clone(),
            task: task.clone(),
            tool: call.name.clone(),
            call_id: call.id.clone(),
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
