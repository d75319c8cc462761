//! Does what one step says.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    budget::{Budget, Spent},
    effect::Failure,
    event::{RunEvent, StepResult},
    id::StepKey,
    run::{Outgoing, Work},
    world::{StepContext, World},
};

/// How long a tool may go on after it was called back.
const GRACE: Duration = Duration::from_secs(5);

/// A step that came back.
pub(super) struct Returned {
    pub(super) key: Option<StepKey>,
    result: StepResult,
    spent: Option<Spent>,
}

impl Returned {
    /// A step of which nothing is known any more.
    pub(super) fn broken() -> Self {
        Self {
            key: None,
            result: StepResult::Cancelled,
            spent: None,
        }
    }

    pub(super) fn event(&self, at_ms: u64) -> Option<RunEvent> {
        let key = self.key.as_ref()?;
        Some(RunEvent::StepEnded {
            step: key.step.clone(),
            attempt: key.attempt,
            result: self.result.clone(),
            spent: self.spent,
            at_ms,
        })
    }
}

/// Does it, until it is done, its time is over, or it is called back.
pub(super) async fn perform(
    world: Arc<dyn World>,
    work: Work,
    called_back: CancellationToken,
    left: Budget,
) -> Returned {
    let step = StepContext {
        key: work.key.clone(),
        deadline_ms: work.deadline_ms,
        cancelled: called_back.clone(),
        left,
    };
    let (result, spent) = match called_back.is_cancelled() {
        true => call_back(&*world, &step, &work.what).await,
        false => attempt(&*world, &step, &work).await,
    };
    Returned {
        key: Some(work.key),
        result,
        spent,
    }
}

async fn attempt(
    world: &dyn World,
    step: &StepContext,
    work: &Work,
) -> (StepResult, Option<Spent>) {
    let now_ms = world.now_ms();
    let left = work
        .deadline_ms
        .map(|d| Duration::from_millis(d.saturating_sub(now_ms)));
    let over = async {
        match left {
            Some(left) => sleep(left).await,
            None => std::future::pending().await,
        }
    };
    let acting = AssertUnwindSafe(act(world, step, &work.what)).catch_unwind();
    tokio::pin!(acting);
    tokio::select! {
        biased;
        result = &mut acting => result.unwrap_or_else(|_| panicked()),
        () = step.cancelled.cancelled() => match work.what {
            Outgoing::Call(_) => match timeout(GRACE, acting).await {
                Ok(result) => result.unwrap_or_else(|_| panicked()),
                Err(_) => (StepResult::Cancelled, None),
            },
            _ => call_back(world, step, &work.what).await,
        },
        () = over => {
            // Who gives up cancels.
            call_back(world, step, &work.what).await;
            let seconds = left.unwrap_or_default().as_secs_f32();
            (failed(Failure::passing(format!("no answer within {seconds:.0} s"))), None)
        }
    }
}

async fn act(
    world: &dyn World,
    step: &StepContext,
    what: &Outgoing,
) -> (StepResult, Option<Spent>) {
    match what {
        Outgoing::Ask(request) => match world.ask(step, (**request).clone()).await {
            Ok(answer) => {
                let spent = world.cost(&answer);
                (StepResult::ModelAnswered(answer), Some(spent))
            }
            Err(failure) => (failed(failure), Some(Spent::CALL)),
        },
        Outgoing::Call(call) => {
            let result = match world.call(step, call).await {
                Ok(output) => StepResult::ToolReturned(output),
                Err(failure) => failed(failure),
            };
            (result, Some(Spent::CALL))
        }
        Outgoing::Delegate(sent) => match world.delegate(step, sent).await {
            Ok(delegated) => {
                let spent = delegated.spent.map(|s| s.plus(Spent::CALL));
                (StepResult::DelegationEnded(delegated), spent)
            }
            Err(failure) => (failed(failure), None),
        },
        Outgoing::Say(text) => match world.say(step, text).await {
            Ok(()) => (StepResult::Said, Some(Spent::default())),
            Err(failure) => (failed(failure), Some(Spent::default())),
        },
        Outgoing::Wait(until_ms) => {
            let left = until_ms.saturating_sub(world.now_ms());
            sleep(Duration::from_millis(left)).await;
            (StepResult::Woke, Some(Spent::default()))
        }
    }
}

/// What a step that is called back needs: an agent has to be told.
async fn call_back(
    world: &dyn World,
    step: &StepContext,
    what: &Outgoing,
) -> (StepResult, Option<Spent>) {
    if let Outgoing::Delegate(sent) = what {
        world.recall(step, sent).await;
    }
    (StepResult::Cancelled, None)
}

fn failed(failure: Failure) -> StepResult {
    StepResult::Failed(failure)
}

fn panicked() -> (StepResult, Option<Spent>) {
    (
        failed(Failure::lasting(
            "it broke off: see the log of this process",
        )),
        None,
    )
}
