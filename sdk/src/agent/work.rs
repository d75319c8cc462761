//! The handling of one message, from the call of its handler to the acknowledgement.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    time::{Duration, SystemTime},
};

use agenthub_proto::agenthub::{Publish, publish::Payload};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::{sleep, timeout};

use super::{InFlightGuard, StopReason, answer};
use crate::{
    Error, Failure, Reply, TaskContext,
    connection::{Lease, publish},
};

/// How long a handler may go on after it was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// How long to wait before an answer that the hub could not take is sent again.
const RETRY: Duration = Duration::from_secs(1);

/// What a handler makes of a message.
pub(super) type Handling = BoxFuture<'static, Result<Reply, Failure>>;

/// A message in hand.
pub(super) struct Job {
    pub(super) context: TaskContext,
    pub(super) lease: Option<Lease>,
    pub(super) guard: InFlightGuard,
}

impl Job {
    /// Calls the handler and returns what it has begun. The task is shown as WORKING first.
    pub(super) async fn begin(&self, handler: &super::Handler) -> Handling {
        let context = &self.context;
        if !context.task_id().is_empty() {
            // An error says that the connection is closed: the handler will find out.
            let _ = context.publish_update("").await;
        }
        let super::Handler::Call(handler) = handler else {
            let failure = Failure::failed("runs are not driven here");
            return Box::pin(std::future::ready(Err(failure)));
        };
        let call = AssertUnwindSafe(|| handler(context.clone()));
        let handling = match std::panic::catch_unwind(call) {
            Ok(handling) => handling,
            Err(panic) => return Box::pin(std::future::ready(Err(panicked(panic.as_ref())))),
        };
        let caught = AssertUnwindSafe(handling).catch_unwind();
        Box::pin(async move {
            caught
                .await
                .unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
        })
    }

    /// Waits for the handler and sends what it gives. Returns what is to be given back for others, if it was not handled.
    pub(super) async fn finish(self, handling: Handling) -> Option<Lease> {
        let Self {
            context,
            lease,
            guard,
        } = self;
        match handled(&context, handling).await {
            Some(result) => {
                if let Err(failure) = &result {
                    tracing::warn!(kind = ?failure.kind, "the handler has no result");
                    tracing::debug!(error = %failure, "why the handler has no result");
                }
                match context.task_id().is_empty() {
                    true => reply(&context, result, lease).await,
                    false => conclude(&context, result, lease).await,
                }
                None
            }
            None if guard.signal.why() == Some(&StopReason::Stopping) => lease,
            None => {
                confirm(&context, guard.signal.why(), lease).await;
                None
            }
        }
    }
}

/// The handler's result; `None` if it was stopped before it had one.
async fn handled(context: &TaskContext, mut handling: Handling) -> Option<Result<Reply, Failure>> {
    let signal = &context.inner.signal;
    let deadline = async {
        match context.deadline() {
            Some(at) => sleep(at.duration_since(SystemTime::now()).unwrap_or_default()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = signal.token.cancelled() => {}
        result = &mut handling => return Some(result),
        () = deadline => signal.stop(StopReason::Deadline),
    }
    tracing::debug!(why = ?signal.why(), "stopping the handler");
    if signal.why() != Some(&StopReason::Stopping) && timeout(GRACE, handling).await.is_err() {
        tracing::warn!("the handler went on after its cancellation and was dropped");
    }
    None
}

/// Ends the task: everything and the acknowledgement in one frame.
async fn conclude(context: &TaskContext, result: Result<Reply, Failure>, lease: Option<Lease>) {
    let mut publishes = answer::of_task(context, result);
    loop {
        let error = match refusal(context, publishes.clone(), lease.clone()).await {
            Ok(()) => return,
            Err(error) => error,
        };
        match error {
            Error::Closed(_) => return,
            Error::Invalid(_) if publishes.len() > 1 || !is_failure(&publishes) => {
                let failure = Failure::failed(format!("the hub does not take the result: {error}"));
                publishes = vec![answer::of_failure(context, &failure)];
            }
            error if error.is_retryable() => {
                tracing::warn!(%error, "the hub could not take the result, trying again");
                sleep(RETRY).await;
            }
            error => {
                tracing::warn!(%error, "the task's result came too late or to no avail");
                acknowledge(context, lease).await;
                return;
            }
        }
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

/// Says that nothing of a task that was stopped goes on any more; the hub waits for that before it calls a task cancelled. It may
/// have ended the task itself.
async fn confirm(context: &TaskContext, why: Option<&StopReason>, lease: Option<Lease>) {
    if let Some(StopReason::Cancelled(_)) = why
        && !context.task_id().is_empty()
    {
        let why = why.map(ToString::to_string).unwrap_or_default();
        let cancelled = answer::of_failure(context, &Failure::cancelled(why));
        match refusal(context, vec![cancelled], lease.clone()).await {
            Ok(()) | Err(Error::Closed(_)) => return,
            Err(error) => tracing::debug!(%error, "the task had ended before"),
        }
    }
    acknowledge(context, lease).await;
}

/// Answers a message that belongs to no task.
async fn reply(context: &TaskContext, result: Result<Reply, Failure>, lease: Option<Lease>) {
    let message = result.ok().and_then(|reply| reply.message);
    if let Some(message) = message.filter(|_| !context.sender().is_empty()) {
        let payload = Payload::Message(context.addressed(message));
        let link = context.client().link();
        let publish = publish(payload, context.reply_envelope());
        match link.publish(vec![publish], None, context.scope()).await {
            Ok(results) => {
                for error in results.into_iter().filter_map(Result::err) {
                    tracing::warn!(%error, "the hub did not take the answer");
                }
            }
            Err(error) => tracing::debug!(%error, "not answered"),
        }
    }
    acknowledge(context, lease).await;
}

/// Says that the message is done with.
pub(super) async fn acknowledge(context: &TaskContext, lease: Option<Lease>) {
    if let Some(lease) = lease {
        // An error says that the connection is closed: it will be delivered again.
        let _ = context.client().link().ack(lease).await;
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned());
    Failure::failed(match text {
        Some(text) => format!("the handler panicked: {text}"),
        None => "the handler panicked".to_owned(),
    })
}
