//! Offers of the agents of a hub.

use std::collections::BTreeSet;

use agenthub_sdk::proto::agenthub::{AgentState, ListAgentsRequest};
use agenthub_terminal::connect;

use crate::{
    connecting::Offers,
    model::{Work, Workflow},
};

/// Agents of a hub.
pub(super) struct Known {
    pub(super) offers: Offers,
    away: BTreeSet<String>,
}

impl Known {
    /// The agents of a hub.
    ///
    /// # Errors
    ///
    /// The hub does not answer; in one line.
    pub(super) async fn on(hub: &str) -> anyhow::Result<Self> {
        let client = connect::client(hub, None).await?;
        let agents = client.all_agents(ListAgentsRequest::default()).await;
        client.close().await;
        let agents = agents?;
        let away = agents.iter().filter(|e| e.state() == AgentState::Offline);
        let cards = agents.iter().filter_map(|agent| agent.agent_card.as_ref());
        Ok(Self {
            away: away.map(|entry| entry.agent_id.clone()).collect(),
            offers: Offers::of(cards),
        })
    }

    /// The agents that the steps of a workflow name and that are away.
    pub(super) fn away<'w>(&self, workflow: &'w Workflow) -> BTreeSet<&'w str> {
        let steps = workflow.graph.all().into_iter();
        let named = steps.filter_map(|step| match &step.work {
            Work::Call(call) => Some(&*call.agent),
            _ => None,
        });
        named.filter(|agent| self.away.contains(*agent)).collect()
    }
}
