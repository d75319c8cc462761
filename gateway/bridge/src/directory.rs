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
use agenthub_sdk::proto::{
    agenthub::{GetAgentRequest, agent_hub_client::AgentHubClient},
    grpc::Transport,
    slug::slug,
};
use async_trait::async_trait;
use tokio::time::timeout;
use tonic::Code;

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
    #[error("no agent {0:?} is on the hub: `agenthub agents add URL` adds one from elsewhere")]
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

/// The agents of a hub (EXE-5.2): those elsewhere at their own addresses, all others where the hub serves A2A. The hub keeps where agents
/// elsewhere are, not their secrets: credentials are settings of the bridge, each by reference.
#[derive(Debug)]
pub struct HubDirectory {
    hub: Transport,
    /// URL at which the hub serves A2A, without a slash at the end.
    a2a: String,
    elsewhere: Connector,
    /// Reaches the hub, wherever it is: its address is a setting.
    to_hub: Connector,
    credentials: HashMap<String, Auth>,
    known: Mutex<HashMap<String, (Instant, Remote)>>,
}

impl HubDirectory {
    /// The agents of the hub at the other end of this channel, which serves A2A at the address `a2a`, and the credentials for each by its id
    /// (EXE-5.4). `to_hub` reaches that address, and `elsewhere` agents elsewhere.
    pub fn new(
        hub: Transport,
        a2a: &str,
        to_hub: Connector,
        elsewhere: Connector,
        credentials: HashMap<String, Auth>,
    ) -> Self {
        Self {
            hub,
            a2a: a2a.trim_end_matches('/').to_owned(),
            elsewhere,
            to_hub,
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

    /// Address of an agent elsewhere; `None` for one that is not on the hub's list of these.
    async fn url_elsewhere(&self, name: &str) -> Result<Option<String>, NotFound> {
        let mut hub = OutsideAgentsClient::new(self.hub.clone());
        let listed = hub.list_outside_agents(ListOutsideAgentsRequest {});
        let agents = match timeout(ASKING, listed).await {
            Ok(Ok(listed)) => listed.into_inner().agents,
            Ok(Err(status)) => return Err(NotFound::Hub(status.message().to_owned())),
            Err(_) => return Err(NotFound::Hub(format!("no answer within {ASKING:?}"))),
        };
        let agent = agents.into_iter().find(|agent| agent.agent_id == name);
        Ok(agent.map(|agent| agent.url))
    }

    /// Address of an agent that is on the hub itself.
    async fn url_on_hub(&self, name: &str) -> Result<String, NotFound> {
        let mut hub = AgentHubClient::new(self.hub.clone());
        let request = GetAgentRequest {
            agent_id: name.to_owned(),
        };
        match timeout(ASKING, hub.get_agent(request)).await {
            Ok(Ok(_)) => Ok(format!("{}/agents/{}", self.a2a, slug(name))),
            Ok(Err(status)) if matches!(status.code(), Code::NotFound | Code::InvalidArgument) => {
                Err(NotFound::Unknown(name.to_owned()))
            }
            Ok(Err(status)) => Err(NotFound::Hub(status.message().to_owned())),
            Err(_) => Err(NotFound::Hub(format!("no answer within {ASKING:?}"))),
        }
    }
}

#[async_trait]
impl Directory for HubDirectory {
    async fn find(&self, name: &str) -> Result<Remote, NotFound> {
        if let Some(remote) = self.known(name) {
            return Ok(remote);
        }
        let card = |failure| NotFound::Card {
            name: name.to_owned(),
            failure,
        };
        let found = match self.url_elsewhere(name).await? {
            Some(url) => remote(&self.elsewhere, &url, self.credentials.get(name)).await,
            None => remote(&self.to_hub, &self.url_on_hub(name).await?, None).await,
        };
        let found = found.map_err(card)?;
        self.remember(name, &found);
        Ok(found)
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
                // Its messages have the ids of their tasks.
                is_repeatable: true,
                ..Options::default()
            };
            Remote::new(connector, *card, &url, options)
        }
        Fetched::Unchanged => Err(Failure::Card("the agent sends no card".to_owned())),
    }
}
