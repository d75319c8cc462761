//! What the result of a handler, or of a run, becomes on the wire.

use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{Publish, publish::Payload},
};
use agenthub_runs::Spent;

use crate::{
    ArtifactUpdate, Failure, Reply, TaskContext, connection::publish, reply::FailureKind, usage,
};

/// The publishes that end a task: its message and artifacts, if any, and the state, which is last and tells what was used.
pub(super) fn of_task(
    context: &TaskContext,
    result: Result<Reply, Failure>,
    spent: Option<Spent>,
) -> Vec<Publish> {
    match result {
        Ok(reply) => of_reply(context, reply, spent),
        Err(failure) => vec![of_failure(context, &failure, spent)],
    }
}

fn of_reply(context: &TaskContext, reply: Reply, spent: Option<Spent>) -> Vec<Publish> {
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
    let state = match reply.input_required {
        true => TaskState::InputRequired,
        false => TaskState::Completed,
    };
    publishes.push(status(context, state, message, spent));
    publishes
}

/// The state that a failed task ends in.
pub(super) fn of_failure(
    context: &TaskContext,
    failure: &Failure,
    spent: Option<Spent>,
) -> Publish {
    let state = match failure.kind {
        FailureKind::Failed => TaskState::Failed,
        FailureKind::Rejected => TaskState::Rejected,
        FailureKind::Cancelled => TaskState::Cancelled,
    };
    let message = context.message_of(&failure.text);
    status(context, state, Some(message), spent)
}

fn status(
    context: &TaskContext,
    state: TaskState,
    message: Option<Message>,
    spent: Option<Spent>,
) -> Publish {
    let usage = spent.map(|spent| (usage::USAGE.to_owned(), usage::usage(spent)));
    let status = context.status(state, message, usage.into_iter().collect());
    publish(Payload::StatusUpdate(status), context.envelope())
}
