//! Agents as tools: what a supervisor sees of the hub, and how it asks others.
//!
//! `peers.rs` says which agents are offered, under which names and with which descriptions, `schemas.rs` which of their schemas; `find.rs` finds those that are not;
//! `chosen.rs` says which of them its author lets it ask, and `ancestors.rs` tells who waits for this agent, and must not be asked.

mod ancestors;
mod chosen;
mod find;
mod peers;
mod schemas;

use std::time::Duration;

use agenthub_proto::agenthub::{AgentState, ListAgentsRequest};
use agenthub_runs::{
    Delegated, Sent, ToolOutput,
    tool_loop::{Offered, Query},
};
use serde_json::Value;
use tokio::{sync::OnceCell, time::timeout};

pub use chosen::Peers;
pub(crate) use peers::every;

use crate::{Client, DirectoryEntry, TaskContext};

/// How long an agent may be gone before the work that it has is given up.
const AWAY_GRACE: Duration = Duration::from_secs(2);

/// How long a look at the hub may take. Without an answer, what the directory knows is taken.
const LOOK: Duration = Duration::from_secs(2);

/// The agents that a supervisor can ask for one task.
pub(crate) struct Crew {
    task: TaskContext,
    /// Who is never asked.
    excluded: OnceCell<Vec<String>>,
}

impl Crew {
    pub(crate) fn new(task: TaskContext) -> Self {
        Self {
            task,
            excluded: OnceCell::new(),
        }
    }

    /// The tools there are: the agent's own, and the agents that are here.
    pub(crate) async fn offered(&self, own: Vec<Offered>, query: &Query) -> Vec<Offered> {
        let all = known(self.task.client()).await;
        peers::offered(own, &all, self.excluded().await, query)
    }

    /// The agents that match a query.
    pub(crate) async fn find(&self, arguments: &Value) -> ToolOutput {
        let all = known(self.task.client()).await;
        find::find(&all, self.excluded().await, arguments)
    }

    /// Hands work over and waits for what becomes of it; not for an agent that is gone.
    pub(crate) async fn delegate(&self, sent: &Sent) -> Result<Delegated, agenthub_runs::Failure> {
        let directory = self.task.client().directory();
        let agent = &sent.handoff.agent;
        tokio::select! {
            biased;
            ended = self.hand_over(sent) => ended.map(peers::bounded),
            () = directory.gone(agent, AWAY_GRACE) => {
                self.recall(sent).await;
                Ok(Delegated {
                    agent: agent.clone(),
                    state: "away".to_owned(),
                    error: format!("{agent} is not here at present"),
                    ..Delegated::default()
                })
            }
        }
    }

    /// Takes work back.
    pub(crate) async fn recall(&self, sent: &Sent) {
        self.task.recall(sent).await;
    }

    async fn hand_over(&self, sent: &Sent) -> Result<Delegated, agenthub_runs::Failure> {
        Ok(self.task.hand_over(sent).await?.ended().await)
    }

    async fn excluded(&self) -> &[String] {
        let excluded = self
            .excluded
            .get_or_init(|| ancestors::excluded(&self.task));
        excluded.await
    }
}

/// Every agent that the hub knows. Right after connecting the directory is still being filled; then the hub is asked.
pub(crate) async fn known(client: &Client) -> Vec<DirectoryEntry> {
    let directory = client.directory();
    if directory.is_complete() {
        return directory.all();
    }
    match timeout(LOOK, client.all_agents(ListAgentsRequest::default())).await {
        Ok(Ok(entries)) => entries
            .into_iter()
            .filter_map(|entry| {
                Some(DirectoryEntry {
                    online: entry.state() == AgentState::Online,
                    card: entry.agent_card?.into(),
                })
            })
            .collect(),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the hub did not list its agents");
            directory.all()
        }
        Err(_) => directory.all(),
    }
}
