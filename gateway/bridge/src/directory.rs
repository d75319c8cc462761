//! Where agents are.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use agenthub_a2a::{
    client::{Auth, CardUrl, Failure, Fetched, Options, Remote, fetch_as},
    outside::wire::{ListOutsideAgentsRequest, outside_agents_client::OutsideAgentsClient},
};
use agenthub_outbound::Connector;
use async_trait::async_trait;
use tokio::time::timeout;
use tonic::transport::Channel;

/// Time for which an agent is taken to be where it was.
const FRESH: Duration = Duration::from_secs(30);

/// Agents that are remembered, at most.
const MAX_KNOWN: usize = 1_000;

/// Deadline of a question to the hub.
const ASKING: Duration = Duration::from_secs(10);

/// An agent that cannot be called.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotFound {
    /// No agent has this name.
    #[error("no agent {0:?} is registered: `agenthub agents add URL` registers one")]
    Unknown(String),
    /// The hub does not answer.
    #[error("the hub cannot be asked for agents: {0}")]
    Hub(String),
    /// The agent's card cannot be had, or does not fit.
    #[error("agent {name:?} cannot be called: {failure}")]
    Card {
        /// The agent.
        name: String,
        /// Why not.
        #[source]
        failure: Failure,
    },
}

/// Knows agents by the names that tasks have for them.
#[async_trait]
pub trait Directory: Send + Sync + fmt::Debug {
    /// The agent of this name, ready to be called.
    ///
    /// # Errors
    ///
    /// See [`NotFound`].
    async fn find(&self, name: &str) -> Result<Remote, NotFound>;
}

/// The agents elsewhere that a hub has on its list (EXE-5.2). The hub keeps where they are, not their secrets: credentials are settings of
/// the bridge, each by reference.
#[derive(Debug)]
pub struct HubDirectory {
    hub: OutsideAgentsClient<Channel>,
    connector: Connector,
    credentials: HashMap<String, Auth>,
    known: Mutex<HashMap<String, (Instant, Remote)>>,
}

impl HubDirectory {
    /// The agents of the hub at the other end of this channel, and the credentials for each by its id (EXE-5.4).
    pub fn new(hub: Channel, connector: Connector, credentials: HashMap<String, Auth>) -> Self {
        Self {
            hub: OutsideAgentsClient::new(hub),
            connector,
            credentials,
            known: Mutex::default(),
        }
    }

    fn known(&self, name: &str) -> Option<Remote> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, remote) = known.get(name)?;
        (since.elapsed() < FRESH).then(|| remote.clone())
    }

    fn remember(&self, name: &str, remote: &Remote) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(name.to_owned(), (Instant::now(), remote.clone()));
    }

    async fn url_of(&self, name: &str) -> Result<String, NotFound> {
        let mut hub = self.hub.clone();
        let listed = hub.list_outside_agents(ListOutsideAgentsRequest {});
        let agents = match timeout(ASKING, listed).await {
            Ok(Ok(listed)) => listed.into_inner().agents,
            Ok(Err(status)) => return Err(NotFound::Hub(status.message().to_owned())),
            Err(_) => return Err(NotFound::Hub(format!("no answer within {ASKING:?}"))),
        };
        let agent = agents.into_iter().find(|agent| agent.agent_id == name);
        let agent = agent.ok_or_else(|| NotFound::Unknown(name.to_owned()))?;
        Ok(agent.url)
    }
}

#[async_trait]
impl Directory for HubDirectory {
    async fn find(&self, name: &str) -> Result<Remote, NotFound> {
        if let Some(remote) = self.known(name) {
            return Ok(remote);
        }
        let url = self.url_of(name).await?;
        let auth = self.credentials.get(name);
        let remote = remote(&self.connector, &url, auth)
            .await
            .map_err(|failure| NotFound::Card {
                name: name.to_owned(),
                failure,
            })?;
        self.remember(name, &remote);
        Ok(remote)
    }
}

/// The agent whose card is at this address.
pub(crate) async fn remote(
    connector: &Connector,
    url: &str,
    auth: Option<&Auth>,
) -> Result<Remote, Failure> {
    match fetch_as(connector, &CardUrl::of(url)?, "", auth).await? {
        Fetched::Card { card, url, .. } => {
            let options = Options {
                auth: auth.cloned(),
                ..Options::default()
            };
            Remote::new(connector, *card, &url, options)
        }
        Fetched::Unchanged => Err(Failure::Card("the agent sends no card".to_owned())),
    }
}
