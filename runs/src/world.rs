//! The port through which a run acts: models, tools, other agents, the requester, and the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    approval::{Approval, Decision},
    budget::{Budget, Spent},
    effect::{DelegationResult, EffectFailure, SentHandoff, ToolOutput},
    event::RunOutcome,
    id::StepKey,
    journal::Entry,
    model::{Completion, Request, ToolCall},
    progress::Progress,
};

/// Context of a step.
#[derive(Clone, Debug)]
pub struct StepContext {
    /// Key of the attempt; send its ids along, so that duplicates are recognised.
    pub key: StepKey,
    /// Deadline, in milliseconds since 1970.
    pub deadline_ms: Option<u64>,
    /// Cancelled when the step is recalled. A tool has a grace period of 5 s; every other future is dropped at once.
    pub cancelled: CancellationToken,
    /// Budget that the run has left, without the reservations of this step and others.
    pub left: Budget,
    /// Reports progress of the step.
    pub progress: Progress,
}

/// Effects of a run. The driver journals a step before it calls a method here, and calls it once per attempt, or again
/// under the same key after another driver recovered the run. Dropping a future stops its work in this process.
#[async_trait]
pub trait World: Send + Sync {
    /// Queries the world. Quick and infallible.
    async fn look(&self, query: &Value) -> Value;

    /// Calls the model.
    ///
    /// # Errors
    ///
    /// There is no answer.
    async fn ask(&self, step: &StepContext, request: Request) -> Result<Completion, EffectFailure>;

    /// Calls a tool. A failure of the tool is an output, too.
    ///
    /// # Errors
    ///
    /// There is no output for the model.
    async fn call(&self, step: &StepContext, call: &ToolCall) -> Result<ToolOutput, EffectFailure>;

    /// Hands work to an agent, under the ids in `sent`, and waits for its result.
    ///
    /// # Errors
    ///
    /// The work could not be handed over, and cost only the call. Once an agent may have received it, every result is
    /// an `Ok`.
    async fn delegate(
        &self,
        step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure>;

    /// Cancels handed-over work, if it was handed over. Returns when the agent has confirmed the cancellation, or when
    /// its lease expires; the run waits for that.
    async fn recall(&self, step: &StepContext, sent: &SentHandoff);

    /// Sends a message to the requester.
    ///
    /// # Errors
    ///
    /// The message could not be sent.
    async fn say(&self, step: &StepContext, text: &str) -> Result<(), EffectFailure>;

    /// Asks a person for approval, and waits for the decision. After recovery, the same approval is requested again
    /// under the same id. Dropping the future withdraws it.
    ///
    /// # Errors
    ///
    /// No person can be asked.
    async fn approve(&self, _: &StepContext, _: &Approval) -> Result<Decision, EffectFailure> {
        Err(EffectFailure::lasting("nobody can be asked"))
    }

    /// Shows an event, in order, once it is durable. After recovery, the last entries are shown once more with `again`,
    /// because the previous driver may not have shown them. The run continues when this returns, so do not wait for
    /// watchers: omit what a slow one has no room for, and mark the gap.
    fn show(&self, entry: &Entry, again: bool);

    /// Reports the outcome to the requester. Called again if it is unknown whether the last call succeeded.
    ///
    /// # Errors
    ///
    /// The requester was not told. Retried if the failure is retryable.
    async fn conclude(&self, outcome: &RunOutcome, spent: Spent) -> Result<(), EffectFailure>;

    /// Cost of a model's answer; `None` if it reports none, which charges the whole reservation.
    fn cost(&self, completion: &Completion) -> Option<Spent> {
        let usage = completion.usage?;
        Some(Spent {
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            is_estimated: usage.is_estimated,
            ..Spent::CALL
        })
    }

    /// The time, in milliseconds since 1970.
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
