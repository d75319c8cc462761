//! The world that a workflow acts in: the agents of the hub, and people.

use agenthub_sdk::{
    TaskContext,
    model::{Completion, Request, ToolCall},
    runs::{
        Approval, Decision, DelegationResult, EffectFailure, RunOutcome, SentHandoff, Spent,
        StepContext, ToolOutput, World, journal::Entry,
    },
};
use async_trait::async_trait;
use serde_json::Value;

use super::monitor::Monitor;

/// The world of one run.
#[derive(Debug)]
pub(crate) struct RunWorld {
    task: TaskContext,
    monitor: Monitor,
}

impl RunWorld {
    pub(super) fn new(task: TaskContext, monitor: Monitor) -> Self {
        Self { task, monitor }
    }
}

#[async_trait]
impl World for RunWorld {
    async fn look(&self, _: &Value) -> Value {
        Value::Null
    }

    async fn ask(&self, _: &StepContext, _: Request) -> Result<Completion, EffectFailure> {
        Err(EffectFailure::lasting("a workflow asks no model"))
    }

    async fn call(&self, _: &StepContext, _: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        Err(EffectFailure::lasting("a workflow calls no tools"))
    }

    /// spec: EXE-3.1, EXE-3.5
    async fn delegate(
        &self,
        _: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        let handed = self.task.hand_over(sent).await?;
        let agent = &sent.handoff.agent;
        let directory = self.task.client().directory();
        tokio::select! {
            biased;
            delegated = handed.ended() => Ok(delegated),
            () = directory.gone(agent) => {
                self.task.recall(sent).await;
                Ok(DelegationResult {
                    agent: agent.clone(),
                    state: "away".to_owned(),
                    error: format!("{agent} went away"),
                    ..DelegationResult::default()
                })
            }
        }
    }

    async fn recall(&self, _: &StepContext, sent: &SentHandoff) {
        self.task.recall(sent).await;
    }

    async fn approve(
        &self,
        _: &StepContext,
        approval: &Approval,
    ) -> Result<Decision, EffectFailure> {
        Ok(self.task.decision(approval).await)
    }

    async fn say(&self, _: &StepContext, text: &str) -> Result<(), EffectFailure> {
        self.task
            .publish_update(text)
            .await
            .map_err(|error| EffectFailure {
                is_retryable: error.is_retryable(),
                message: error.to_string(),
            })
    }

    /// spec: EXE-3.3, EXE-8.1, EXE-8.2, EXE-8.3
    fn show(&self, entry: &Entry, again: bool) {
        tracing::debug!(run = %self.task.run_id(), seq = entry.seq, "a workflow has gone on");
        self.monitor.show(entry, again);
    }

    async fn conclude(&self, outcome: &RunOutcome, spent: Spent) -> Result<(), EffectFailure> {
        tracing::info!(run = %self.task.run_id(), ended = outcome.label(), calls = spent.calls, "a workflow ended");
        // spec: EXE-8.5
        self.monitor.finish().await
    }
}
