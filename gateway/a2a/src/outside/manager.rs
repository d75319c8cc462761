//! All agents elsewhere that are on the hub.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use agenthub_outbound::Connector;
use agenthub_sdk::{Client, Error as HubError, hub::ClientBuilder, proto::slug::slug};
use tokio::{sync::Mutex as AsyncMutex, task::JoinSet};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    list::{Entry, List},
    proxy::{Cancelled, Proxy},
    service::OutsideService,
    tasks::Tasks,
    watching::{Outside, Trouble, View},
    wire::{OutsideAgent, outside_agents_server::OutsideAgentsServer},
};
use crate::client::{Auth, CardUrl, Fetched, auth::Readable, fetch_as};

/// The most agents elsewhere.
const MOST: usize = 1_000;

/// The id under which the hub knows who adds them.
const AGENT_ID: &str = "outside-agents";

/// Folder in the data folder with secrets that agents elsewhere are shown.
const SECRETS: &str = "secrets";

/// Settings of the agents elsewhere.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The way to them.
    pub connector: Connector,
    /// The data folder; without one they are forgotten with the process.
    pub folder: Option<PathBuf>,
    /// Variables of the process, which all of its namespaces share, may be named as secrets.
    pub variables: bool,
}

/// The agents elsewhere of one hub. Clones are the same. It takes requests once it is [opened](Self::open).
#[derive(Clone)]
pub struct OutsideAgents(Arc<Inner>);

struct Inner {
    settings: Settings,
    hub: OnceLock<Hub>,
    roster: AsyncMutex<Roster>,
}

struct Hub {
    client: Client,
    url: String,
}

#[derive(Default)]
struct Roster {
    list: List,
    tasks: Arc<Mutex<Tasks>>,
    watched: BTreeMap<String, Watched>,
}

struct Watched {
    proxy: Arc<OnceLock<Arc<Proxy>>>,
    view: Arc<Mutex<View>>,
    stop: CancellationToken,
    running: AbortOnDropHandle<()>,
}

/// Reason why an agent elsewhere is not added or removed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the hub is not there yet: try again soon")]
    NotOpen,
    #[error("an agent \"{0}\" is on the hub already: choose another id")]
    Taken(String),
    #[error(
        "{0:?} is no id: 1 to 64 letters, digits, `-`, `_` and `.`, the first a letter or digit"
    )]
    Id(String),
    #[error("no agent elsewhere is \"{0}\" here")]
    Unknown(String),
    #[error("there are {MOST} agents elsewhere, which is the most")]
    TooMany,
    #[error(transparent)]
    Trouble(#[from] Trouble),
    #[error("the list of agents elsewhere cannot be written: {0}")]
    Disk(#[from] io::Error),
}

/// Agents elsewhere cannot be brought to the hub.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data folder, or the list in it.
    #[error("the list of agents elsewhere cannot be read: {0}")]
    Disk(#[from] io::Error),
    /// The hub.
    #[error(transparent)]
    Hub(#[from] HubError),
}

impl fmt::Debug for OutsideAgents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideAgents").finish_non_exhaustive()
    }
}

impl OutsideAgents {
    /// Agents elsewhere that are not open yet: nothing is read or written before the hub has its data folder to itself.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner {
            settings,
            hub: OnceLock::new(),
            roster: AsyncMutex::default(),
        }))
    }

    /// The gRPC service by which they are added and removed.
    pub fn service(&self) -> OutsideAgentsServer<OutsideService> {
        OutsideAgentsServer::new(self.clone().into())
    }

    /// Reads which ones there are, and brings them to the hub at this address, which `client` calls. Only the first time counts.
    ///
    /// # Errors
    ///
    /// The data folder cannot be read or written, the list in it is damaged, or the hub cannot be reached.
    pub async fn open(&self, client: ClientBuilder, hub_url: &str) -> Result<(), OpenError> {
        let mut roster = self.0.roster.lock().await;
        if self.0.hub.get().is_some() {
            return Ok(());
        }
        let folder = self.0.settings.folder.as_deref();
        roster.list = List::open(folder.map(Into::into))?;
        roster.tasks = Arc::new(Mutex::new(Tasks::open(folder)?));
        let client = client.agent_id(AGENT_ID).connect().await?;
        let hub = Hub {
            client,
            url: hub_url.to_owned(),
        };
        // There is none: the roster is locked.
        let _ = self.0.hub.set(hub);
        for entry in roster.list.all().to_vec() {
            let id = entry.id.clone();
            let watched = watch(self.0.outside(entry, &roster.tasks, hub_url));
            roster.watched.insert(id, watched);
        }
        Ok(())
    }

    /// Takes all of them from the hub; it finds them away until they are brought again. Takes 9 s at most.
    pub async fn close(&self) {
        let mut roster = self.0.roster.lock().await;
        let mut leaving = JoinSet::new();
        for watched in std::mem::take(&mut roster.watched).into_values() {
            watched.stop.cancel();
            leaving.spawn(watched.running);
        }
        leaving.join_all().await;
        if let Some(hub) = self.0.hub.get() {
            hub.client.close().await;
        }
    }

    /// Fetches the card at an address, and makes its agent one of the hub; `id` is made of its name if empty.
    pub(super) async fn add(
        &self,
        url: &str,
        id: &str,
        auth: Option<Auth>,
    ) -> Result<OutsideAgent, Refusal> {
        let hub = self.0.hub.get().ok_or(Refusal::NotOpen)?;
        let id = match id {
            "" => self.name_of(url, auth.as_ref()).await?,
            id => id.to_owned(),
        };
        if !is_id(&id) {
            return Err(Refusal::Id(id));
        }
        let entry = Entry {
            id: id.clone(),
            url: url.to_owned(),
            auth,
        };
        let tasks = Arc::clone(&self.0.roster.lock().await.tasks);
        let mut outside = self.0.outside(entry.clone(), &tasks, &hub.url);
        // It may take long, and the agents that are there are not to wait for it.
        outside.read_card().await?;
        let mut roster = self.0.roster.lock().await;
        if roster.watched.len() >= MOST {
            return Err(Refusal::TooMany);
        }
        match hub.client.agent(&id).await {
            Err(HubError::NotFound(_)) if roster.list.get(&id).is_none() => {}
            Ok(_) | Err(HubError::NotFound(_)) => return Err(Refusal::Taken(id)),
            Err(error) => return Err(Trouble::from(error).into()),
        }
        // Listed before the hub knows it: after a crash in between it is brought to the hub, or can be removed.
        roster.list.add(entry)?;
        if let Err(trouble) = outside.join().await {
            roster.list.remove(&id)?;
            return Err(trouble.into());
        }
        let watched = watch(outside);
        let shown = shown(&id, url, &watched);
        roster.watched.insert(id, watched);
        Ok(shown)
    }

    /// Removes one, with what waits for it. If it cannot be removed, it stays as it was.
    /// Its open tasks are cancelled there.
    pub(super) async fn remove(&self, id: &str) -> Result<Cancelled, Refusal> {
        let hub = self.0.hub.get().ok_or(Refusal::NotOpen)?;
        let mut roster = self.0.roster.lock().await;
        let Some(entry) = roster.list.get(id).cloned() else {
            return Err(Refusal::Unknown(id.to_owned()));
        };
        let mut proxy = None;
        if let Some(watched) = roster.watched.remove(id) {
            watched.stop.cancel();
            // It was broken off.
            let _ = watched.running.await;
            proxy = watched.proxy.get().cloned();
        }
        let operator = hub.client.operator();
        let removed = match operator.unregister(id, "the agent was removed").await {
            // It never answered since the hub forgot it.
            Ok(()) | Err(HubError::NotFound(_) | HubError::Invalid(_)) => {
                let cancelled = match proxy {
                    Some(proxy) => proxy.cancel_all().await,
                    None => Cancelled::default(),
                };
                roster
                    .list
                    .remove(id)
                    .map(|()| cancelled)
                    .map_err(Refusal::from)
            }
            Err(error) => Err(Trouble::from(error).into()),
        };
        if removed.is_err() {
            let watched = watch(self.0.outside(entry, &roster.tasks, &hub.url));
            roster.watched.insert(id.to_owned(), watched);
        }
        removed
    }

    /// All of them, by their ids.
    pub(super) async fn all(&self) -> Vec<OutsideAgent> {
        let roster = self.0.roster.lock().await;
        let all = roster.watched.iter();
        let all =
            all.filter_map(|(id, watched)| Some(shown(id, &roster.list.get(id)?.url, watched)));
        all.collect()
    }

    async fn name_of(&self, url: &str, auth: Option<&Auth>) -> Result<String, Trouble> {
        let url = CardUrl::of(url)?;
        let secrets = self.0.secrets();
        let auth = auth.map(|auth| auth.clone().confined(&secrets));
        let auth = auth.transpose()?;
        match fetch_as(&self.0.settings.connector, &url, "", auth.as_ref()).await? {
            Fetched::Card { card, .. } => Ok(slug(&card.name)),
            Fetched::Unchanged => Ok(String::new()),
        }
    }
}

impl Inner {
    /// The secrets that agents elsewhere may be shown.
    fn secrets(&self) -> Readable {
        Readable {
            variables: self.settings.variables,
            folder: self.settings.folder.as_ref().map(|f| f.join(SECRETS)),
        }
    }

    fn outside(&self, entry: Entry, tasks: &Arc<Mutex<Tasks>>, hub_url: &str) -> Outside {
        let connector = self.settings.connector.clone();
        Outside::new(
            entry,
            connector,
            hub_url.to_owned(),
            self.secrets(),
            Arc::clone(tasks),
        )
    }
}

/// True if the hub, its addresses and a terminal all take it as it is.
fn is_id(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    id.len() <= 64
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(is_plain)
}

fn watch(outside: Outside) -> Watched {
    let (view, stop) = (outside.view(), CancellationToken::new());
    let proxy = outside.proxy();
    let running = tokio::spawn(outside.run(stop.clone()));
    Watched {
        proxy,
        view,
        stop,
        running: AbortOnDropHandle::new(running),
    }
}

fn shown(id: &str, url: &str, watched: &Watched) -> OutsideAgent {
    let view = watched
        .view
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    OutsideAgent {
        agent_id: id.to_owned(),
        url: url.to_owned(),
        name: view.name,
        interface: view.interface,
        is_away: view.is_away,
        signature: view.signature,
        why_away: view.why_away,
    }
}
