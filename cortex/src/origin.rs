//! Where a request came from, and the way back.

use agenthub_proto::{
    a2a::{Message, Role},
    trace::TraceContext,
};
use agenthub_sdk::{Client, Delegation, Error, Pending, TaskContext};

/// Cortex's id.
pub const CORTEX: &str = "cortex";

/// The task type of what users ask Cortex.
pub const CHAT_REQUEST: &str = "chat_request";

/// The task type of what Cortex answers.
pub const CHAT_RESPONSE: &str = "chat_response";

/// Where a request came from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A message over the hub.
    Hub(TaskContext),
    /// A call of `cortex.Cortex/Chat`.
    Call { client: Client, trace: TraceContext },
}

impl Origin {
    pub(crate) fn client(&self) -> &Client {
        match self {
            Self::Hub(context) => context.client(),
            Self::Call { client, .. } => client,
        }
    }

    pub(crate) fn trace(&self) -> TraceContext {
        match self {
            Self::Hub(context) => context.trace(),
            Self::Call { trace, .. } => *trace,
        }
    }

    /// Hands a task over on behalf of the request, as part of its trace.
    pub(crate) async fn delegate(&self, delegation: Delegation) -> Result<Pending, Error> {
        match self {
            Self::Hub(context) => context.delegate(delegation).await,
            Self::Call { client, trace } => client.delegate(delegation.trace(trace.child())).await,
        }
    }

    /// Says something before the request is done. A call has it from its frames.
    pub(crate) async fn say(&self, message: Message) {
        if let Self::Hub(context) = self
            && let Err(error) = context.publish_message(message).await
        {
            tracing::warn!(%error, "an interim answer could not be sent");
        }
    }
}

/// An answer to a message.
pub(crate) fn response(text: &str, context_id: &str, original_message_id: &str) -> Message {
    let mut message = Message::new(Role::Agent, text)
        .with_metadata("task_type", CHAT_RESPONSE)
        .with_metadata("from_agent", CORTEX)
        .with_metadata("original_message_id", original_message_id);
    message.context_id = context_id.to_owned();
    message
}
