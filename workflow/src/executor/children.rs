//! Runs of workflows that are steps of others. The hub hands an agent nothing that it sends itself, so a client asks in its place, whose id
//! is as lasting as the agent's instance: over a restart the answers come to the same.

use agenthub_sdk::{
    Client, Delegation, Error, TaskContext,
    runs::{DelegationResult, EffectFailure, RunId, SentHandoff},
};
use tokio::sync::OnceCell;

use super::progress::Progress;

/// The client that asks for such runs. It connects when the first one is asked for.
#[derive(Debug)]
pub(super) struct Children {
    hub: String,
    /// The client's id, if it is for one run alone.
    id: Option<String>,
    caller: OnceCell<Client>,
}

impl Children {
    pub(super) fn new(hub: &str) -> Self {
        Self {
            hub: hub.to_owned(),
            id: None,
            caller: OnceCell::new(),
        }
    }

    /// A client that asks on behalf of one run, whoever executes it.
    pub(super) fn of_run(hub: &str, run: &RunId) -> Self {
        Self {
            id: Some(format!("{run}.caller")),
            ..Self::new(hub)
        }
    }

    async fn caller(&self, task: &TaskContext) -> Result<&Client, EffectFailure> {
        let connect = || {
            let of_instance = || format!("{}.caller", task.client().instance_id());
            let id = self.id.clone().unwrap_or_else(of_instance);
            Client::builder(self.hub.clone()).agent_id(id).connect()
        };
        let connected = self.caller.get_or_try_init(connect).await;
        connected.map_err(|error: Error| EffectFailure {
            is_retryable: error.is_retryable(),
            message: error.to_string(),
        })
    }

    /// Asks for a run on behalf of this task's, and waits for what comes of it. Its questions to people are passed on.
    pub(super) async fn carry_out(
        &self,
        task: &TaskContext,
        sent: &SentHandoff,
        progress: &Progress,
    ) -> Result<DelegationResult, EffectFailure> {
        let caller = self.caller(task).await?;
        let delegation = Delegation::of(sent)
            .hops(task.routing().hops.saturating_add(1))
            .parent_task_id(task.task_id())
            .trace(task.trace());
        let mut handed = caller.hand_over(delegation, task.is_taken_up()).await?;
        let updates = handed.updates();
        tokio::select! {
            ended = handed.on_behalf_of(task).ended() => Ok(ended),
            never = progress.pass_on(updates) => match never {},
        }
    }

    /// Calls such a run back.
    pub(super) async fn recall(&self, task: &TaskContext, sent: &SentHandoff) {
        match self.caller(task).await {
            Ok(caller) => {
                caller
                    .recall(&sent.task_id, "it is not waited for any longer")
                    .await
            }
            Err(error) => {
                tracing::warn!(%error, task_id = sent.task_id, "a run could not be called back")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use agenthub_sdk::{runs::journal::MemoryJournal, testing::TestHub};
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;
    use crate::{
        RUN,
        executor::{NAME, SecretSource, agent},
    };

    #[tokio::test]
    async fn a_run_that_waits_for_a_run_within_it_lends_its_place() {
        let hub = TestHub::start().await;
        let executor = agent(
            &hub.url(),
            Arc::new(MemoryJournal::default()),
            None,
            SecretSource::Nowhere,
        )
        .concurrency(1);
        let executor = executor.start(hub.url()).await.expect("a hub");
        let inner = json!({ "steps": { "b": { "wait": "1ms" } }, "output": "done" });
        let request = json!({
            "workflow": { "steps": { "a": { "workflow": inner } }, "output": "${a.output}" },
        });
        let client = hub.client().await;
        let asked = Delegation::to(NAME).capability(RUN).payload(request);
        let pending = client.delegate(asked).await.expect("the hub takes it");
        let ended = timeout(Duration::from_secs(20), pending.outcome()).await;
        let outcome = ended.expect("there is a place for the child");
        assert_eq!(outcome.expect("an outcome").text, "done");
        executor.stop().await;
    }
}
