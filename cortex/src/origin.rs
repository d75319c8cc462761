//! Origin of a request, and the way back.

use agenthub_proto::{
    a2a::{Message, Role},
    trace::TraceContext,
};
use agenthub_sdk::{
    Client, Delegation, Error, TaskContext,
    durable::HandedOver,
    internal::span_of,
    runs::{EffectFailure, SentHandoff},
};
use tokio_util::sync::CancellationToken;

/// Cortex's id.
pub const CORTEX: &str = "cortex";

/// The task type of what users ask Cortex.
pub const CHAT_REQUEST: &str = "chat_request";

/// The task type of what Cortex answers.
pub const CHAT_RESPONSE: &str = "chat_response";

/// Origin of a request.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A message over the hub.
    Hub(TaskContext),
    /// A call of `cortex.Cortex/Chat`.
    Call {
        client: Client,
        /// The principal that calls; empty on a hub without identities.
        on_behalf_of: String,
        trace: TraceContext,
        context_id: String,
        /// The caller does not wait any more.
        gone: CancellationToken,
    },
}

impl Origin {
    pub(crate) fn client(&self) -> &Client {
        match self {
            Self::Hub(task) => task.client(),
            Self::Call { client, .. } => client,
        }
    }

    /// The principal who asked first; empty on a hub without identities.
    pub(crate) fn on_behalf_of(&self) -> &str {
        match self {
            Self::Hub(task) => task.on_behalf_of(),
            Self::Call { on_behalf_of, .. } => on_behalf_of,
        }
    }

    pub(crate) fn trace(&self) -> TraceContext {
        match self {
            Self::Hub(task) => task.trace(),
            Self::Call { trace, .. } => *trace,
        }
    }

    /// Waits until nothing more is to be done for it in this process.
    pub(crate) async fn cancelled(&self) {
        match self {
            Self::Hub(task) => task.cancelled().await,
            Self::Call { gone, .. } => gone.cancelled().await,
        }
    }

    /// Hands a task over on behalf of the request, as part of its trace.
    pub(crate) async fn hand_over(&self, sent: &SentHandoff) -> Result<HandedOver, EffectFailure> {
        match self {
            Self::Hub(task) => task.hand_over(sent).await,
            Self::Call {
                client,
                on_behalf_of,
                trace,
                context_id,
                ..
            } => {
                let delegation = Delegation::of(sent)
                    .context_id(context_id)
                    .on_behalf_of(on_behalf_of)
                    .metadata("correlation_id", trace.trace_id())
                    .trace(trace.at_span(span_of(&sent.message_id)));
                client.hand_over(delegation, false).await
            }
        }
    }

    /// Calls a task back, and waits until it has ended.
    pub(crate) async fn recall(&self, sent: &SentHandoff) {
        match self {
            Self::Hub(task) => task.recall(sent).await,
            Self::Call { client, .. } => {
                let reason = "the caller does not wait for it any longer";
                client.recall(&sent.task_id, reason).await;
            }
        }
    }

    /// Says something before the request is done. A call has it from its frames.
    pub(crate) async fn say(&self, message: Message) -> Result<(), Error> {
        match self {
            Self::Hub(task) => task.publish_message(message).await,
            Self::Call { .. } => Ok(()),
        }
    }
}

/// The conversation that a message belongs to. One without a context is a conversation of its own.
pub(crate) fn context_of(task: &TaskContext) -> String {
    let message = task.message();
    [&message.context_id, &message.task_id, &message.message_id]
        .into_iter()
        .find(|id| !id.is_empty())
        .cloned()
        .unwrap_or_default()
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
