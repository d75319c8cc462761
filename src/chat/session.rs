//! One conversation.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_sdk::{Client, Error};
use agenthub_terminal::run::{Asking, Line};
use anyhow::bail;
use tokio::time::timeout;
use uuid::Uuid;

use super::elsewhere::Elsewhere;
use super::presence::{Presence, Standing};

/// Time for which Cortex is waited for at the beginning.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// A conversation over a connection of its own. Cheap to clone; the connection breaks off with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(super) client: Client,
    pub(super) context: String,
    pub(super) hub: String,
    /// Task that waits for the user's answer.
    asks: Arc<Mutex<Option<String>>>,
    /// Approvals that agents ask for, which Cortex may not know.
    pub(super) elsewhere: Elsewhere,
}

impl Session {
    /// Goes on with a conversation, or begins one.
    ///
    /// # Errors
    ///
    /// There is no hub, or no Cortex on it within 5 s.
    pub(crate) async fn open(hub: &str, context: Option<String>) -> anyhow::Result<Self> {
        let session = Self::connect(hub, context).await?;
        let mut presence = Presence::new(&session.client);
        let there = async {
            while presence.standing() != Standing::Fine {
                presence.change().await;
            }
        };
        if timeout(INTRODUCTION, there).await.is_err() {
            session.client.close().await;
            bail!(Standing::NoCortex.reason(hub));
        }
        Ok(session)
    }

    /// A new conversation on the same hub.
    pub(super) async fn anew(&self) -> Result<Self, Error> {
        Self::connect(&self.hub, None).await
    }

    /// Notes that a task waits for what the user says next.
    pub(super) fn waits(&self, task_id: String) {
        *self.asks.lock().unwrap_or_else(PoisonError::into_inner) = Some(task_id);
    }

    /// The task that waits for what the user says now, if one does.
    pub(super) fn take_waiting(&self) -> Option<String> {
        let mut asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        asks.take()
    }

    /// A line to Cortex, for its runs.
    pub(super) fn line(&self) -> anyhow::Result<Line> {
        Line::to(&self.hub)
    }

    /// Hears of what waits for a person's yes.
    pub(super) fn asking(&self) -> anyhow::Result<Asking> {
        Ok(Asking::listen(self.line()?))
    }

    pub(super) async fn connect(hub: &str, context: Option<String>) -> Result<Self, Error> {
        let context = context.unwrap_or_else(|| Uuid::now_v7().to_string());
        let client = Client::builder(hub)
            .temporary_id(id(&context))
            .watch_agents(true)
            .connect()
            .await?;
        Ok(Self {
            client,
            context,
            hub: hub.to_owned(),
            asks: Arc::default(),
            elsewhere: Elsewhere::default(),
        })
    }
}

/// The user's id. Cortex keeps apart what different users say under one context, so who comes back to a conversation must be the
/// same as before.
fn id(context: &str) -> String {
    let unique = Uuid::new_v5(&Uuid::NAMESPACE_OID, context.as_bytes());
    format!("chat-{}", &unique.simple().to_string()[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_back_to_a_conversation_is_the_same() {
        assert_eq!(id("c1"), id("c1"));
        assert_ne!(id("c1"), id("c2"));
    }
}
