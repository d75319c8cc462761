//! Detects when the hub accepts publishes again, with plain calls that are retried at once.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::proto::agenthub::{
    AgentEventMetadata, PublishMessageRequest, agent_hub_client::AgentHubClient,
};
use anyhow::{Context, bail};
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::{Channel, Endpoint};

use super::{
    board::Board,
    hub::Hub,
    operation::Operation,
    publisher::{message, routing},
};

/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(5);
/// Timeout of an attempt.
const TRY: Duration = Duration::from_secs(2);
/// Timeout of the hub's recovery.
const PATIENCE: Duration = Duration::from_secs(60);

/// A publisher that waits for each answer.
#[derive(Debug)]
pub(crate) struct Probe {
    channel: Channel,
    board: Arc<Board>,
    next: Operation,
    to: &'static str,
}

impl Probe {
    /// # Errors
    ///
    /// The address is invalid.
    pub(crate) fn new(
        url: String,
        board: Arc<Board>,
        context: usize,
        to: &'static str,
    ) -> anyhow::Result<Self> {
        let endpoint = Endpoint::from_shared(url).context("the hub's address")?;
        Ok(Self {
            channel: endpoint.connect_timeout(TRY).timeout(TRY).connect_lazy(),
            board,
            next: Operation { context, number: 1 },
            to,
        })
    }

    /// Publishes one operation, repeatedly with the same content, until the hub accepts it.
    ///
    /// # Errors
    ///
    /// The hub ends by itself, or does not accept it in time.
    pub(crate) async fn accepted(&mut self, hub: &mut Hub) -> anyhow::Result<()> {
        let operation = self.next;
        self.next.number += 1;
        let since = Instant::now();
        let mut last = String::new();
        while since.elapsed() < PATIENCE {
            hub.check_alive()?;
            match timeout(TRY, self.publish(operation)).await {
                Ok(Ok(())) => {
                    self.board.ledger().acknowledged(operation);
                    return Ok(());
                }
                Ok(Err(error)) => last = error,
                Err(_elapsed) => last = format!("no answer within {TRY:?}"),
            }
            sleep(PAUSE).await;
        }
        bail!("the hub did not come back within {PATIENCE:?}: {last}")
    }

    async fn publish(&self, operation: Operation) -> Result<(), String> {
        let request = PublishMessageRequest {
            message: Some(message(operation)),
            routing: Some(AgentEventMetadata {
                from_agent_id: "bench-probe".to_owned(),
                ..routing(self.to)
            }),
            ..Default::default()
        };
        let answer = AgentHubClient::new(self.channel.clone())
            .publish_message(request)
            .await
            .map_err(|status| status.to_string())?
            .into_inner();
        match answer.success {
            true => Ok(()),
            false => Err(answer.error),
        }
    }
}
