//! Agents as tools: what a supervisor sees of the hub, and how it asks others.
//!
//! `peers.rs` says which agents are offered, under which names and with which descriptions, `tasks.rs` which of them take a task, `schemas.rs` which of their schemas are shown; `find.rs` finds those that are not;
//! `chosen.rs` says which of them its author lets it ask, and `ancestors.rs` tells who waits for this agent, and must not be asked.

mod ancestors;
mod chosen;
mod find;
mod heard;
mod peers;
mod schemas;
mod tasks;

use std::time::{Duration, SystemTime};

use agenthub_proto::agenthub::{AgentState, ListAgentsRequest};
use agenthub_runs::{
    DelegationResult, SentHandoff, ToolOutput, seconds,
    tool_loop::{AvailableTool, ToolQuery},
};
use futures_util::FutureExt;
use serde_json::Value;
use tokio::{
    sync::OnceCell,
    time::{sleep, timeout},
};

pub use chosen::Peers;
use heard::Heard;
pub(crate) use peers::every;

use crate::{Client, DirectoryEntry, TaskContext};

/// Deadline for a look at the hub. Without an answer, what the directory knows is taken.
const LOOK: Duration = Duration::from_secs(2);

/// Time before its end at which an agent is given up, so that there is a moment to keep what it gave.
const LAST_MOMENT: Duration = Duration::from_millis(100);

/// The agents that a supervisor can ask for one task.
pub(crate) struct Crew {
    task: TaskContext,
    peers: Peers,
    /// Agents that are never asked.
    excluded: OnceCell<Vec<String>>,
}

impl Crew {
    pub(crate) fn new(task: TaskContext, peers: Peers) -> Self {
        Self {
            task,
            peers,
            excluded: OnceCell::new(),
        }
    }

    /// The tools there are: the agent's own, and the agents that are here.
    pub(crate) async fn offered(
        &self,
        own: Vec<AvailableTool>,
        query: &ToolQuery,
    ) -> Vec<AvailableTool> {
        let all = self.known().await;
        peers::offered(own, &all, self.excluded().await, query, &self.peers)
    }

    /// The agents that match a query.
    pub(crate) async fn find(&self, arguments: &Value) -> ToolOutput {
        let all = self.known().await;
        find::find(&all, self.excluded().await, arguments)
    }

    /// Hands work over and waits for what becomes of it; not for an agent that is gone, nor longer than it has. What the agent has shown of its
    /// answer until then is kept.
    pub(crate) async fn delegate(
        &self,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, agenthub_runs::EffectFailure> {
        let directory = self.task.client().directory();
        let agent = &sent.handoff.agent;
        let without = |state: &str, error: String| DelegationResult {
            agent: agent.clone(),
            state: state.to_owned(),
            error,
            ..DelegationResult::default()
        };
        let heard = Heard::default();
        let ended = tokio::select! {
            biased;
            ended = self.hand_over(sent, &heard) => ended?,
            () = directory.gone(agent) => {
                self.recall(sent).await;
                without("away", format!("{agent} is not here at present"))
            }
            // The hub ends the task itself.
            had = late(sent.deadline_ms, self.task.client().now()) => {
                without("timed-out", format!("no answer within {}", seconds(had)))
            }
        };
        Ok(peers::bounded(heard.kept(ended)))
    }

    /// Takes work back.
    pub(crate) async fn recall(&self, sent: &SentHandoff) {
        self.task.recall(sent).await;
    }

    async fn hand_over(
        &self,
        sent: &SentHandoff,
        heard: &Heard,
    ) -> Result<DelegationResult, agenthub_runs::EffectFailure> {
        let handed = self.task.hand_over(sent).await?;
        let mut handed = handed.relaying_questions();
        let mut updates = handed.updates();
        let ended = handed.ended();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                biased;
                Some(update) = updates.next() => heard.add(&update),
                ended = &mut ended => {
                    while let Some(Some(update)) = updates.next().now_or_never() {
                        heard.add(&update);
                    }
                    return Ok(ended);
                }
            }
        }
    }

    /// Every agent that its author lets it ask.
    async fn known(&self) -> Vec<DirectoryEntry> {
        let mut all = known(self.task.client()).await;
        all.retain(|entry| self.peers.has(&entry.card));
        all
    }

    async fn excluded(&self) -> &[String] {
        let excluded = self
            .excluded
            .get_or_init(|| ancestors::excluded(&self.task));
        excluded.await
    }
}

/// Waits until this time is about to be over, and says how long that was; for ever if it is over already: then what became of the task is
/// asked for.
async fn late(deadline_ms: u64, now: SystemTime) -> Duration {
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(deadline_ms));
    let left = at.and_then(|at| at.duration_since(now).ok());
    match left.filter(|left| !left.is_zero()) {
        Some(left) => {
            sleep(left - LAST_MOMENT.min(left / 10)).await;
            left
        }
        None => std::future::pending().await,
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
