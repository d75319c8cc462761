//! The port through which a run acts: models, tools, other agents, who waits, and the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    approval::{Approval, Decision},
    budget::{Budget, Spent},
    effect::{Delegated, Failure, Sent, ToolOutput},
    event::RunOutcome,
    id::StepKey,
    journal::Entry,
    model::{Completion, Request, ToolCall},
    progress::Progress,
};

/// A step as the world sees it.
#[derive(Clone, Debug)]
pub struct StepContext {
    /// Which attempt at which step; its ids are to be sent along, so that what is sent again is known as the same.
    pub key: StepKey,
    /// When it is given up, in milliseconds since 1970.
    pub deadline_ms: Option<u64>,
    /// Cancelled when the step is called back. A tool has 5 s from then on; everything else is dropped at once.
    pub cancelled: CancellationToken,
    /// What the run may still use besides what is reserved for this step and others.
    pub left: Budget,
    /// Shows what the step does on its way.
    pub progress: Progress,
}

/// What a run acts on. The driver journals a step before it calls one of these, and calls it once for each attempt, or once more under
/// the same key when the run was taken up by another driver meanwhile. Dropping a future stops what it does in this process.
#[async_trait]
pub trait World: Send + Sync {
    /// Who and what is there. Quick; it never fails.
    async fn look(&self, query: &Value) -> Value;

    /// Asks the model.
    ///
    /// # Errors
    ///
    /// The model gave no answer.
    async fn ask(&self, step: &StepContext, request: Request) -> Result<Completion, Failure>;

    /// Calls a tool. That the tool fails is an output as well.
    ///
    /// # Errors
    ///
    /// There is no output that a model could be told.
    async fn call(&self, step: &StepContext, call: &ToolCall) -> Result<ToolOutput, Failure>;

    /// Hands work to an agent, under the ids in `sent`, and waits for what becomes of it.
    ///
    /// # Errors
    ///
    /// It could not be handed over, and has cost nothing but the call. Once an agent may have it, whatever becomes of it is an outcome.
    async fn delegate(&self, step: &StepContext, sent: &Sent) -> Result<Delegated, Failure>;

    /// Cancels work that was handed to an agent, if it was. Returns when the agent has confirmed that it stopped, or when its lease
    /// is over; the run waits for that.
    async fn recall(&self, step: &StepContext, sent: &Sent);

    /// Says something to who waits for the run.
    ///
    /// # Errors
    ///
    /// It could not be said.
    async fn say(&self, step: &StepContext, text: &str) -> Result<(), Failure>;

    /// Asks a person, and waits for what they say. When the run was taken up meanwhile, the same is asked again under the same id. It is
    /// withdrawn by dropping the future.
    ///
    /// # Errors
    ///
    /// Nobody can be asked.
    async fn approve(&self, _: &StepContext, _: &Approval) -> Result<Decision, Failure> {
        Err(Failure::lasting("nobody can be asked"))
    }

    /// Shows something that happened, in order, once it is durable. When a run was taken up, the last entries come again with `again`,
    /// because the driver before may not have shown them. The run goes on once this returns, so it waits for nobody: what those who watch
    /// have no room for is left out, and said to be missing.
    fn show(&self, entry: &Entry, again: bool);

    /// Tells who waits how the run ended. Comes again, when it is not known whether they were told.
    ///
    /// # Errors
    ///
    /// They were not told. It is tried again where that may help.
    async fn conclude(&self, outcome: &RunOutcome, spent: Spent) -> Result<(), Failure>;

    /// What an answer of the model cost; nothing where it does not tell, and is charged all that was reserved for it.
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
