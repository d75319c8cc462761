//! Events at a steady rate from one agent to another.

use std::time::Duration;

use agenthub_sdk::{
    Client,
    proto::{
        a2a::{Message, Role},
        agenthub::{AgentEventMetadata, Durability},
    },
};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;

use super::mail;

/// Interval of publishing.
const TICK: Duration = Duration::from_millis(10);

/// A load. [`stop`](Self::stop) it.
pub(super) struct Load {
    client: Client,
    publishing: AbortOnDropHandle<()>,
    reading: AbortOnDropHandle<()>,
}

impl Load {
    /// Publishes this many events in a second.
    pub(super) async fn start(hub: &str, rate: u32) -> anyhow::Result<Self> {
        let client = Client::builder(hub).agent_id("bench").connect().await?;
        let reading = mail::read(&client, "reader").await?;
        let publisher = client.clone();
        let publishing = tokio::spawn(async move {
            let mut ticks = interval(TICK);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            loop {
                ticks.tick().await;
                let each = (0..rate / 100).map(|_| publisher.publish(message(), to("reader")));
                futures_util::future::join_all(each).await;
            }
        });
        Ok(Self {
            client,
            publishing: AbortOnDropHandle::new(publishing),
            reading,
        })
    }

    /// Ends it.
    ///
    /// # Errors
    ///
    /// It had ended before.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        let has_ended = self.publishing.is_finished() || self.reading.is_finished();
        drop((self.publishing, self.reading));
        self.client.close().await;
        anyhow::ensure!(!has_ended, "the load ended before the measurement did");
        Ok(())
    }
}

fn message() -> Message {
    Message::new(Role::User, "an event of some forty letters, as notes are")
}

fn to(agent: &str) -> AgentEventMetadata {
    AgentEventMetadata {
        to_agent_id: agent.to_owned(),
        durability: Durability::Memory.into(),
        ..Default::default()
    }
}
