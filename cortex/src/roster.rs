//! The task types that agents registered for, which their cards do not tell.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_proto::agenthub::ListAgentsRequest;
use agenthub_sdk::{Client, Error};
use tokio::time::timeout;

/// Registering again with other task types changes no card, so it is looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// The task types of the agents, as of the last look. Cheap to clone; clones are the same roster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roster(Arc<Mutex<HashMap<String, Vec<String>>>>);

impl Roster {
    /// The task types of this agent; `None` if they are not known.
    pub(crate) fn topics(&self, agent_id: &str) -> Option<Vec<String>> {
        let topics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        topics.get(agent_id).cloned()
    }

    /// Keeps it up to date for as long as the client's directory lives.
    pub(crate) async fn run(self, client: Client) {
        let mut changed = client.directory().changed();
        loop {
            changed.mark_unchanged();
            match look(&client).await {
                Ok(topics) => *self.0.lock().unwrap_or_else(PoisonError::into_inner) = topics,
                Err(error) => tracing::debug!(%error, "the agents' task types could not be read"),
            }
            if let Ok(Err(_)) = timeout(LOOK_AGAIN, changed.changed()).await {
                return;
            }
        }
    }
}

async fn look(client: &Client) -> Result<HashMap<String, Vec<String>>, Error> {
    let agents = client.all_agents(ListAgentsRequest::default()).await?;
    let topics = agents.into_iter().map(|a| (a.agent_id, a.subscriptions));
    Ok(topics.collect())
}
