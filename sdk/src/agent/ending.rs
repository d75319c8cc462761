//! The end of a message's handling on the wire: what the requester is told, and the acknowledgement.

use std::time::Duration;

use agenthub_proto::agenthub::{Publish, publish::Payload};
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::{StopReason, answer};
use crate::{
    Error, Failure, Reply, TaskContext,
    connection::{Lease, publish},
};

/// Pause before an answer that the hub could not take is sent again.
const RETRY: Duration = Duration::from_secs(1);

/// Ends the task: everything and the acknowledgement in one frame.
pub(super) async fn conclude(
    context: &TaskContext,
    result: Result<Reply, Failure>,
    lease: Option<Lease>,
) {
    let mut publishes = answer::of_task(context, result, context.told_use());
    loop {
        match end_task(context, &mut publishes, lease.clone()).await {
            Ok(()) | Err(Error::Closed(_)) => return,
            Err(error) if error.is_retryable() => {
                tracing::warn!(%error, "the hub could not take the result, trying again");
                sleep(error.pause(RETRY)).await;
            }
            Err(error) => {
                tracing::warn!(%error, "the task's result came too late or to no avail");
                return;
            }
        }
    }
}

/// The end of a task whose run nobody can go on with.
pub(super) fn cannot_go_on(why: &str) -> Failure {
    Failure::failed(format!("the run of this task cannot go on: {why}"))
}

/// Says that what was done for a cancelled task has stopped; the hub may have ended the task meanwhile. Of a task that came to its end
/// in another way there is nothing to say.
pub(super) async fn stopped(context: &TaskContext, lease: Option<Lease>) {
    let why = context.inner.signal.why();
    let Some(why @ StopReason::Cancelled(_)) = why.filter(|_| !context.task_id().is_empty()) else {
        return acknowledge(context, lease).await;
    };
    let failure = Failure::cancelled(why.to_string());
    let mut publishes = vec![answer::of_failure(context, &failure, Map::new())];
    while let Err(error) = end_task(context, &mut publishes, lease.clone()).await {
        tracing::debug!(%error, "the hub was not told that the work has stopped");
        if !error.is_retryable() {
            return;
        }
        sleep(error.pause(RETRY)).await;
    }
}

/// Tries to end the task, once. What the hub does not take as a result becomes a failure that says so. Where the hub is against the end
/// itself, the message is done with nevertheless.
///
/// # Errors
///
/// [`Error::Closed`]; one that is retryable; or what the hub has against it.
pub(super) async fn end_task(
    context: &TaskContext,
    publishes: &mut Vec<Publish>,
    lease: Option<Lease>,
) -> Result<(), Error> {
    loop {
        let error = match refusal(context, publishes.clone(), lease.clone()).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match error {
            Error::Invalid(_) if publishes.len() > 1 || !is_failure(publishes) => {
                let failure = Failure::failed(format!("the hub does not take the result: {error}"));
                *publishes = vec![answer::of_failure(context, &failure, Map::new())];
            }
            error if error.is_retryable() || matches!(error, Error::Closed(_)) => {
                return Err(error);
            }
            error => {
                settle(context, &error, lease).await;
                return Err(error);
            }
        }
    }
}

/// Is done with a message whose result the hub does not want. Where that is because another instance has the task, the message is not
/// this one's to acknowledge, and may come back; where the task has ended, it does not.
async fn settle(context: &TaskContext, error: &Error, lease: Option<Lease>) {
    match error {
        Error::Conflict(why) | Error::Superseded(why) if lease.is_some() => {
            hand_back(context, lease, why).await;
        }
        _ => acknowledge(context, lease).await,
    }
}

/// Gives a message back that is another instance's, or may be nobody's any more: should it come again, it is new.
pub(super) async fn hand_back(context: &TaskContext, lease: Option<Lease>, why: &str) {
    if let Some(lease) = lease {
        // An error says that the connection is closed, and with it the lease.
        let link = context.client().link();
        let _ = link.refuse(lease, Duration::ZERO, why).await;
    }
}

fn is_failure(publishes: &[Publish]) -> bool {
    use agenthub_proto::a2a::TaskState::Failed;
    publishes.iter().any(|p| match &p.payload {
        Some(Payload::StatusUpdate(update)) => {
            update.status.as_ref().is_some_and(|s| s.state() == Failed)
        }
        _ => false,
    })
}

/// Publishes; the error is what the hub has against the state or, if it took that, nothing.
async fn refusal(
    context: &TaskContext,
    publishes: Vec<Publish>,
    lease: Option<Lease>,
) -> Result<(), Error> {
    let link = context.client().link();
    let mut results = link
        .publish(publishes, lease.clone(), context.scope())
        .await?;
    let status = results
        .pop()
        .unwrap_or_else(|| Err(Error::Invalid("no result".to_owned())));
    status?;
    let others: Vec<Error> = results.into_iter().filter_map(Result::err).collect();
    if !others.is_empty() {
        tracing::warn!(
            ?others,
            "the hub took the state, but not all that came before it"
        );
        acknowledge(context, lease).await;
    }
    Ok(())
}

/// Answers a message that belongs to no task.
///
/// # Errors
///
/// The hub's refusal of the answer, or the reason why it could not be told.
/// Its metadata tells this; the message that it answers is acknowledged with it.
pub(super) async fn answer(
    context: &TaskContext,
    result: Result<Reply, Failure>,
    told: Map<String, Value>,
    lease: Option<Lease>,
) -> Result<(), Error> {
    let message = result.ok().and_then(|reply| reply.message);
    let Some(message) = message.filter(|_| !context.sender().is_empty()) else {
        return Ok(());
    };
    let mut message = context.addressed(message);
    for (name, value) in told {
        message = message.with_metadata(&name, value);
    }
    let payload = Payload::Message(message);
    let link = context.client().link();
    let publish = publish(payload, context.reply_envelope());
    let results = link.publish(vec![publish], lease, context.scope()).await?;
    results.into_iter().collect::<Result<Vec<_>, _>>().map(drop)
}

/// Acknowledges the message.
pub(super) async fn acknowledge(context: &TaskContext, lease: Option<Lease>) {
    if let Some(lease) = lease {
        // An error says that the connection is closed: it will be delivered again.
        let _ = context.client().link().ack(lease).await;
    }
}
