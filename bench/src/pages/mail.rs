//! Mail of agents that only stand for others: it is read, so that none piles up, and nothing is made of it.

use agenthub_sdk::{Client, hub::EventStream, proto::agenthub::SubscribeToAgentEventsRequest};
use tokio_util::task::AbortOnDropHandle;

/// Reads the mail of an agent until it is dropped.
///
/// # Errors
///
/// The hub does not let it.
pub(super) async fn read(client: &Client, agent: &str) -> anyhow::Result<AbortOnDropHandle<()>> {
    let request = SubscribeToAgentEventsRequest {
        agent_id: agent.to_owned(),
        event_types: ["message", "task", "status_update"]
            .map(str::to_owned)
            .into(),
        ..Default::default()
    };
    let mut events: EventStream = client.agent_events(request).await?;
    let reading = async move { while let Some(Ok(_)) = events.next().await {} };
    Ok(AbortOnDropHandle::new(tokio::spawn(reading)))
}
