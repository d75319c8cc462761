//! The world of a run, with the end of its task.

use std::sync::Arc;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use agenthub_runs::{
    Approval, Command, Decision, DelegationResult, EffectFailure, RunEvent, RunId, RunOutcome,
    SentHandoff, Spent, StepContext, StepId, StepKey, StepResult, ToolOutput, World,
    journal::Entry,
    model::{Completion, Request, ToolCall},
};
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;

use super::{StopReason, answer, ending};
use crate::{Conductor, Error, Reply, Spans, TaskContext, connection::Lease, usage};

/// A conductor's world; beyond it, the requester is told how the run ended.
pub(super) struct Hosted {
    inner: Arc<dyn World>,
    /// Spans and log of the run.
    spans: Spans,
    conductor: Arc<dyn Conductor>,
    context: TaskContext,
    run: RunId,
    /// The delivery to acknowledge with the end.
    lease: Mutex<Option<Lease>>,
    /// The task is over, or nobody knows it: there is nobody to tell.
    is_quiet: bool,
    commands: Arc<watch::Sender<Command>>,
    is_superseded: AtomicBool,
    /// Use of models by the run itself, without that of agents that it asked.
    own: Mutex<Spent>,
}

impl Hosted {
    pub(super) fn new(
        (inner, spans): (Arc<dyn World>, Spans),
        conductor: Arc<dyn Conductor>,
        context: TaskContext,
        run: RunId,
        lease: Option<Lease>,
        is_quiet: bool,
        commands: Arc<watch::Sender<Command>>,
    ) -> Self {
        Self {
            inner,
            spans,
            conductor,
            context,
            run,
            lease: Mutex::new(lease),
            is_quiet,
            commands,
            is_superseded: AtomicBool::new(false),
            own: Mutex::default(),
        }
    }

    /// Takes the delivery, if it is not acknowledged yet.
    pub(super) fn take_lease(&self) -> Option<Lease> {
        self.lock().take()
    }

    /// True if another instance has got the message, so that the hub takes nothing of this one.
    pub(super) fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Relaxed)
    }

    async fn tell(&self, outcome: &RunOutcome, spent: Spent) -> Result<(), EffectFailure> {
        let context = &self.context;
        match context.inner.signal.why() {
            // Its end has been told by the hub, or there is nobody who waits.
            Some(StopReason::Deadline | StopReason::Lost) => {
                ending::acknowledge(context, self.take_lease()).await;
                return Ok(());
            }
            Some(StopReason::Cancelled(_) | StopReason::Stopping) | None => {}
        }
        let result = self
            .conductor
            .reply(context, outcome)
            .map(|r| self.named(r));
        let told = match context.task_id().is_empty() {
            true => {
                let own = *self.own.lock().unwrap_or_else(PoisonError::into_inner);
                // Where the hub counts for principals.
                let counts = !context.routing().on_behalf_of.is_empty();
                let told = usage::told(counts.then_some(own), "");
                let lease = self.lock().clone();
                ending::answer(context, result, told, lease).await
            }
            false => {
                let model = self.conductor.identity().model;
                let told = usage::told(Some(spent), &model);
                let mut publishes = answer::of_task(context, result, told);
                let lease = self.lock().clone();
                ending::end_task(context, &mut publishes, lease).await
            }
        };
        match told {
            Ok(()) => {}
            Err(Error::Superseded(why)) => {
                self.is_superseded.store(true, Ordering::Relaxed);
                self.commands.send_replace(Command::Suspend);
                return Err(EffectFailure::passing(why));
            }
            Err(error) if error.is_retryable() || matches!(error, Error::Closed(_)) => {
                return Err(EffectFailure::passing(error.to_string()));
            }
            Err(error) => tracing::debug!(%error, "the outcome of a run came too late"),
        }
        ending::acknowledge(context, self.take_lease()).await;
        Ok(())
    }

    /// The message gets an id that follows from the run, so that telling it twice tells it once.
    fn named(&self, mut reply: Reply) -> Reply {
        let key = StepKey {
            run: self.run.clone(),
            step: StepId::new("reply"),
            attempt: 1,
        };
        if let Some(message) = &mut reply.message {
            message.message_id = format!("msg_{}", key.message_id().simple());
        }
        reply
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Lease>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl World for Hosted {
    async fn look(&self, query: &Value) -> Value {
        self.inner.look(query).await
    }

    async fn ask(&self, step: &StepContext, request: Request) -> Result<Completion, EffectFailure> {
        self.inner.ask(step, request).await
    }

    async fn call(&self, step: &StepContext, call: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        self.inner.call(step, call).await
    }

    async fn delegate(
        &self,
        step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        self.inner.delegate(step, sent).await
    }

    async fn recall(&self, step: &StepContext, sent: &SentHandoff) {
        self.inner.recall(step, sent).await;
    }

    async fn say(&self, step: &StepContext, text: &str) -> Result<(), EffectFailure> {
        self.inner.say(step, text).await
    }

    async fn approve(
        &self,
        step: &StepContext,
        approval: &Approval,
    ) -> Result<Decision, EffectFailure> {
        self.inner.approve(step, approval).await
    }

    fn show(&self, entry: &Entry, again: bool) {
        if let RunEvent::StepEnded {
            result: StepResult::ModelAnswered(_),
            spent: Some(spent),
            ..
        } = &entry.event
        {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            *own = own.plus(*spent);
        }
        self.spans.tell(entry, again);
        self.inner.show(entry, again);
    }

    async fn conclude(&self, outcome: &RunOutcome, spent: Spent) -> Result<(), EffectFailure> {
        match self.inner.conclude(outcome, spent).await {
            Err(failure) if failure.is_retryable => return Err(failure),
            Err(failure) => {
                tracing::warn!(run = %self.run, %failure, "the run's end was not shown")
            }
            Ok(()) => {}
        }
        match self.is_quiet {
            true => Ok(()),
            false => self.tell(outcome, spent).await,
        }
    }

    fn cost(&self, completion: &Completion) -> Option<Spent> {
        self.inner.cost(completion)
    }

    fn now_ms(&self) -> u64 {
        self.inner.now_ms()
    }
}
