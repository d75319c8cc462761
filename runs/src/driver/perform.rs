//! Execution of one step.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    budget::{Budget, Spent},
    effect::EffectFailure,
    event::{RunEvent, StepResult},
    id::StepKey,
    progress::{Piece, Progress},
    run::{Outgoing, Work},
    seconds::seconds,
    world::{StepContext, World},
};

/// Grace period for a tool after its recall.
const RECALL_GRACE: Duration = Duration::from_secs(5);

/// Time to look for an agent's answer if its deadline had passed when the run was recovered.
const LATE_RESULT: Duration = Duration::from_secs(5);

/// Result of a step.
pub(super) struct ReturnedStep {
    pub(super) key: StepKey,
    result: StepResult,
    spent: Option<Spent>,
}

impl ReturnedStep {
    pub(super) fn event(self, at_ms: u64) -> RunEvent {
        RunEvent::StepEnded {
            step: self.key.step,
            attempt: self.key.attempt,
            result: self.result,
            spent: self.spent,
            at_ms,
        }
    }
}

/// Executes a step until it returns, times out, or is recalled.
pub(super) async fn perform(
    world: Arc<dyn World>,
    work: Work,
    recalled: CancellationToken,
    left: Budget,
    pieces: mpsc::Sender<Piece>,
) -> ReturnedStep {
    let over = recalled.child_token();
    let _over = over.clone().drop_guard();
    let step = StepContext {
        key: work.key.clone(),
        deadline_ms: work.deadline_ms,
        cancelled: recalled,
        left,
        progress: Progress::new(work.key.clone(), pieces, over),
    };
    let attempt = AssertUnwindSafe(attempt(&*world, &step, &work)).catch_unwind();
    let (result, spent) = attempt.await.unwrap_or_else(|_| {
        let failure = EffectFailure::lasting("it broke off: see the log of this process");
        (failed(failure), None)
    });
    ReturnedStep {
        key: work.key,
        result,
        spent,
    }
}

/// End of an attempt.
enum AttemptEnd {
    Returned(Box<(StepResult, Option<Spent>)>),
    Recalled,
    TimedOut,
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
    let end = match left {
        _ if step.cancelled.is_cancelled() => AttemptEnd::Recalled,
        Some(Duration::ZERO) => match work.what {
            // The answer may have arrived while no driver held the run.
            Outgoing::Delegate(_) => in_time(world, step, &work.what, Some(LATE_RESULT)).await,
            _ => AttemptEnd::TimedOut,
        },
        _ => in_time(world, step, &work.what, left).await,
    };
    match end {
        AttemptEnd::Returned(result) => *result,
        AttemptEnd::Recalled => recall_step(world, step, &work.what).await,
        AttemptEnd::TimedOut => {
            // A timeout cancels the agent's task.
            recall_step(world, step, &work.what).await;
            let failure = match left.unwrap_or_default() {
                left if !left.is_zero() => format!("no answer within {}", seconds(left)),
                _ => "its time was over before it could be taken up again".to_owned(),
            };
            (failed(EffectFailure::passing(failure)), None)
        }
    }
}

/// Runs the step within its time. The step's future is dropped when this returns.
async fn in_time(
    world: &dyn World,
    step: &StepContext,
    what: &Outgoing,
    left: Option<Duration>,
) -> AttemptEnd {
    let over = async {
        match left {
            Some(left) => sleep(left).await,
            None => std::future::pending().await,
        }
    };
    let acting = act(world, step, what);
    tokio::pin!(acting);
    tokio::select! {
        biased;
        result = &mut acting => AttemptEnd::Returned(Box::new(result)),
        () = step.cancelled.cancelled() => match what {
            Outgoing::Call(_) => match timeout(RECALL_GRACE, acting).await {
                Ok(result) => AttemptEnd::Returned(Box::new(result)),
                Err(_) => AttemptEnd::Recalled,
            },
            _ => AttemptEnd::Recalled,
        },
        () = over => AttemptEnd::TimedOut,
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
                (StepResult::ModelAnswered(answer), spent)
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
            Err(failure) => (failed(failure), Some(Spent::CALL)),
        },
        Outgoing::Say(text) => match world.say(step, text).await {
            Ok(()) => (StepResult::Said, Some(Spent::default())),
            Err(failure) => (failed(failure), Some(Spent::default())),
        },
        Outgoing::Approve(approval) => match world.approve(step, approval).await {
            Ok(decision) => (StepResult::Decided(decision), Some(Spent::default())),
            Err(failure) => (failed(failure), Some(Spent::default())),
        },
        Outgoing::Wait(until_ms) => {
            let left = until_ms.saturating_sub(world.now_ms());
            sleep(Duration::from_millis(left)).await;
            (StepResult::Woke, Some(Spent::default()))
        }
    }
}

/// Recalls a step: cancels the task of a delegation.
async fn recall_step(
    world: &dyn World,
    step: &StepContext,
    what: &Outgoing,
) -> (StepResult, Option<Spent>) {
    if let Outgoing::Delegate(sent) = what {
        world.recall(step, sent).await;
    }
    (StepResult::Cancelled, None)
}

fn failed(failure: EffectFailure) -> StepResult {
    StepResult::Failed(failure)
}
