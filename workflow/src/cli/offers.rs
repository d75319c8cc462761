//! Offers of the agents of a hub.

use agenthub_sdk::proto::agenthub::ListAgentsRequest;
use agenthub_terminal::connect;

use crate::connecting::Offers;

/// Offers of the agents of a hub.
///
/// # Errors
///
/// The hub does not answer; in one line.
pub(super) async fn offers(hub: &str) -> anyhow::Result<Offers> {
    let client = connect::client(hub, None).await?;
    let agents = client.all_agents(ListAgentsRequest::default()).await;
    client.close().await;
    let agents = agents?;
    Ok(Offers::of(
        agents.iter().filter_map(|agent| agent.agent_card.as_ref()),
    ))
}
