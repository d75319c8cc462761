//! The handling of one message by a function, from its call to the acknowledgement.

use std::{any::Any, panic::AssertUnwindSafe, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::{sleep, timeout};

use super::{Function, InFlightGuard, StopReason, ending};
use crate::{Failure, Reply, TaskContext, connection::Lease, redact};

/// Time for a handler to end after it was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Pause of a message that cannot be handled at present.
const PUT_OFF: Duration = Duration::from_secs(5);

/// Result of handling a message.
pub(super) type Handling = BoxFuture<'static, Result<Reply, Failure>>;

/// A message in hand.
pub(super) struct Job {
    pub(super) context: TaskContext,
    pub(super) lease: Option<Lease>,
    pub(super) guard: InFlightGuard,
}

impl Job {
    /// Calls the handler and returns what it has begun. The task is shown as WORKING first.
    pub(super) async fn begin(&self, handler: &Function) -> Handling {
        let context = &self.context;
        if !context.task_id().is_empty() {
            // An error says that the connection is closed: the handler will find out.
            let _ = context.publish_begun().await;
        }
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

    /// Lets the message come again, after a while.
    pub(super) async fn put_off(self, why: &str) -> Option<Lease> {
        put_off(&self.context, self.lease, why).await;
        None
    }

    /// Waits for the handler and sends what it gives. Returns what is to be given back for others, if it was not handled.
    pub(super) async fn finish(self, handling: Handling) -> Option<Lease> {
        let Self {
            context,
            lease,
            guard,
        } = self;
        context.inner.asked.hold(lease);
        let handled = handled(&context, handling).await;
        // That of the latest message: a question acknowledged the one before.
        let lease = context.inner.asked.take_lease();
        match handled {
            Some(result) => {
                if let Err(failure) = &result {
                    let error = redact::error(&failure.text);
                    tracing::warn!(kind = ?failure.kind, error, "handler failed");
                }
                match context.task_id().is_empty() {
                    true => {
                        if let Err(error) =
                            ending::answer(&context, result, serde_json::Map::new(), None).await
                        {
                            tracing::warn!(%error, "the hub did not take the answer");
                        }
                        ending::acknowledge(&context, lease).await;
                    }
                    false => ending::conclude(&context, result, lease).await,
                }
                None
            }
            None if guard.signal.why() == Some(&StopReason::Stopping) => lease,
            None => {
                ending::stopped(&context, lease).await;
                None
            }
        }
    }
}

/// The handler's result; `None` if it was stopped before it had one.
async fn handled(context: &TaskContext, mut handling: Handling) -> Option<Result<Reply, Failure>> {
    let signal = &context.inner.signal;
    let deadline = over(context);
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

/// Waits until the time for a task is over; for ever if it has no limit.
pub(super) async fn over(context: &TaskContext) {
    match context.deadline() {
        Some(at) => {
            sleep(
                at.duration_since(context.client().now())
                    .unwrap_or_default(),
            )
            .await
        }
        None => std::future::pending().await,
    }
}

/// Lets a message come again, after a while.
pub(super) async fn put_off(context: &TaskContext, lease: Option<Lease>, why: &str) {
    if let Some(lease) = lease {
        // An error says that the connection is closed: it will be delivered again.
        let _ = context.client().link().refuse(lease, PUT_OFF, why).await;
    }
}

pub(super) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned());
    Failure::failed(match text {
        Some(text) => format!("the handler panicked: {text}"),
        None => "the handler panicked".to_owned(),
    })
}
