//! Answers on the wire, made of the results of handlers and runs.

use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{Publish, publish::Payload},
};
use serde_json::{Map, Value};

use crate::{
    ArtifactUpdate, Failure, Reply, TaskContext,
    connection::publish,
    reply::{FIELD, FailureKind},
};

/// The publishes that end a task: its message and artifacts, if any, and the state, which is last and whose
/// metadata tells this.
pub(super) fn of_task(
    context: &TaskContext,
    result: Result<Reply, Failure>,
    told: Map<String, Value>,
) -> Vec<Publish> {
    match result {
        Ok(reply) => of_reply(context, reply, told),
        Err(failure) => vec![of_failure(context, &failure, told)],
    }
}

/// The publishes of a reply: its message and artifacts, if any, and the state.
pub(crate) fn publishes_of(context: &TaskContext, reply: Reply) -> Vec<Publish> {
    of_reply(context, reply, Map::new())
}

fn of_reply(context: &TaskContext, reply: Reply, told: Map<String, Value>) -> Vec<Publish> {
    let mut publishes = Vec::new();
    let message = reply.message.map(|m| context.addressed(m));
    if let Some(message) = &message {
        publishes.push(publish(
            Payload::Message(message.clone()),
            context.reply_envelope(),
        ));
    }
    for artifact in reply.artifacts {
        let update = context.artifact(ArtifactUpdate::new(artifact).last_chunk());
        publishes.push(publish(Payload::ArtifactUpdate(update), context.envelope()));
    }
    let state = reply.asks.unwrap_or(TaskState::Completed);
    publishes.push(status(context, state, message, told));
    publishes
}

/// The state that a failed task ends in.
pub(super) fn of_failure(
    context: &TaskContext,
    failure: &Failure,
    mut told: Map<String, Value>,
) -> Publish {
    let state = match failure.kind {
        FailureKind::Failed => TaskState::Failed,
        FailureKind::Rejected => TaskState::Rejected,
        FailureKind::Cancelled => TaskState::Cancelled,
    };
    let message = context.message_of(&failure.text);
    let field = failure
        .field()
        .map(|field| (FIELD.to_owned(), field.into()));
    told.extend(field);
    status(context, state, Some(message), told)
}

fn status(
    context: &TaskContext,
    state: TaskState,
    message: Option<Message>,
    told: Map<String, Value>,
) -> Publish {
    let status = context.status(state, message, told);
    publish(Payload::StatusUpdate(status), context.envelope())
}
