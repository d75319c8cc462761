//! The hub, whether it is there or not.

use std::{fmt, sync::Arc, time::Duration};

use agenthub_sdk::{
    Client, Error,
    hub::{ClientBuilder, Connection},
    internal::{Identity, NotIdentified, WhoIs},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use uuid::Uuid;

/// Deadline of the first try, for which the client waits.
const FIRST: Duration = Duration::from_secs(1);

/// The pauses between two tries: the first, and the longest.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Time for which a list of tools waits for the hub.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connection to the hub, found again whenever it is lost.
#[derive(Debug)]
pub(super) struct Hub {
    url: String,
    shows: Shows,
    /// The id under which this server is known, so that it can go on with its tasks after a break.
    id: String,
    state: watch::Sender<State>,
}

/// The identity in which the hub is asked.
#[derive(Clone)]
pub(super) enum Shows {
    /// The identity of this process.
    Process,
    /// The identity of a caller that has shown this token, or nothing on a hub that needs none.
    Caller {
        who: Arc<WhoIs>,
        identity: Identity,
        token: Option<String>,
    },
}

/// Tokens are not shown.
impl fmt::Debug for Shows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process => f.write_str("Process"),
            Self::Caller { identity, .. } => f.debug_tuple("Caller").field(identity).finish(),
        }
    }
}

impl Shows {
    fn builder(&self, url: &str) -> Result<ClientBuilder, Error> {
        let builder = Client::builder(url);
        match self {
            Self::Process => Ok(builder),
            Self::Caller { token: None, .. } => Ok(builder.without_identity()),
            Self::Caller {
                token: Some(token), ..
            } => builder.token(token),
        }
    }

    /// The reason why the hub does not serve this caller any more, if it says one.
    async fn ended(&self) -> Option<String> {
        let Self::Caller {
            who,
            identity,
            token,
        } = self
        else {
            return None;
        };
        match who.shows(token.as_deref()).await {
            Ok(now) if now == *identity => None,
            Ok(_) => Some("the hub knows this caller as somebody else now".to_owned()),
            Err(NotIdentified::Unknown(why) | NotIdentified::Denied(why)) => Some(why),
            Err(NotIdentified::Unavailable(_)) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum State {
    /// No hub, for this reason.
    Away(String),
    Here(Client),
}

impl Hub {
    /// The hub at this address, if it is there at once.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`], and [`Error::Invalid`] for a token that cannot be one.
    pub(super) async fn look(url: &str, shows: Shows) -> Result<Self, Error> {
        let id = format!("{SERVER}{}", Uuid::new_v4().simple());
        let client = shows.builder(url)?.temporary_id(&*id);
        let state = match timeout(FIRST, connect(client)).await {
            Ok(Ok(client)) => State::Here(client),
            Ok(Err(error @ Error::InvalidUrl { .. })) => return Err(error),
            Ok(Err(error)) => State::Away(error.to_string()),
            Err(_) => State::Away(no_hub(url, format!("no answer within {FIRST:?}"))),
        };
        if let State::Away(why) = &state {
            tracing::warn!("{why}; until then no agent is offered");
        }
        Ok(Self {
            url: url.to_owned(),
            shows,
            id,
            state: watch::Sender::new(state),
        })
    }

    /// A further connection, as another server of MCP that asked for a task: whoever has its conversation may answer in its place.
    ///
    /// # Errors
    ///
    /// The hub cannot be reached.
    pub(super) async fn client_as(&self, id: &str) -> Result<Client, Error> {
        connect(self.shows.builder(&self.url)?.agent_id(id)).await
    }

    /// Looks for the hub while it is away. Returns once the hub does not serve the caller any more, with the reason; as this process, never.
    /// Dropping the future leaves things as they are.
    pub(super) async fn keep(&self) -> String {
        loop {
            let here = match &*self.state.borrow() {
                State::Here(client) => Some(client.clone()),
                State::Away(_) => None,
            };
            let client = match here {
                Some(client) => client,
                None => match self.find().await {
                    Ok(client) => client,
                    Err(ended) => return ended,
                },
            };
            tracing::info!(hub = self.url, "the hub is there");
            let why = closed(&client).await;
            if let Some(ended) = self.shows.ended().await {
                return ended;
            }
            tracing::warn!(why, "the hub closed the connection");
            self.state.send_replace(State::Away(no_hub(&self.url, why)));
            sleep(PAUSE).await;
        }
    }

    /// The hub, or the reason why it does not serve this caller any more.
    async fn find(&self) -> Result<Client, String> {
        let mut pause = PAUSE;
        loop {
            let connected = async {
                let client = self.shows.builder(&self.url)?;
                connect(client.temporary_id(&*self.id)).await
            };
            match connected.await {
                Ok(client) => {
                    self.state.send_replace(State::Here(client.clone()));
                    return Ok(client);
                }
                Err(error) => {
                    tracing::debug!(%error, "still no hub");
                    if matches!(error, Error::Refused(_))
                        && let Some(ended) = self.shows.ended().await
                    {
                        return Err(ended);
                    }
                    self.state.send_replace(State::Away(error.to_string()));
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    pub(super) fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// The connection, also while it is being mended. Waited for so long if there is none.
    ///
    /// # Errors
    ///
    /// The reason why there is no hub, and what can be done.
    pub(super) async fn client(&self, patience: Duration) -> Result<Client, String> {
        let mut state = self.state();
        let here = state.wait_for(|state| matches!(state, State::Here(_)));
        let _ = timeout(patience, here).await;
        match &*self.state.borrow() {
            State::Here(client) => Ok(client.clone()),
            State::Away(why) => Err(why.clone()),
        }
    }

    /// The same for a list of tools, once it is whole.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub(super) async fn connected(&self) -> Result<Client, String> {
        let client = self.client(PATIENCE).await?;
        let mut connection = client.connection();
        let whole = connection.wait_for(|c| matches!(c, Connection::Connected { .. }));
        let _ = timeout(PATIENCE, whole).await;
        let reason = match &*client.connection().borrow() {
            Connection::Connected { .. } => None,
            Connection::Reconnecting { reason } | Connection::Closed { reason } => {
                Some(reason.clone())
            }
        };
        match reason {
            None => Ok(client),
            Some(reason) => Err(no_hub(&self.url, reason)),
        }
    }

    /// Says goodbye.
    pub(super) async fn close(&self) {
        let here = match &*self.state.borrow() {
            State::Here(client) => Some(client.clone()),
            State::Away(_) => None,
        };
        if let Some(client) = here {
            client.close().await;
        }
    }
}

/// Beginning of the ids under which servers of MCP are known to a hub.
const SERVER: &str = "mcp-";

/// True for the id that a server of MCP has given itself: by it, another server may answer what this one was asked. The ids of other peers are
/// theirs, whatever they begin with.
pub(super) fn is_server(id: &str) -> bool {
    // On a hub with identities it begins with the principal of its caller.
    let own = id.rsplit_once('~').map_or(id, |(_, own)| own);
    let number = own.strip_prefix(SERVER);
    let number = number.and_then(|text| Some((text, Uuid::try_parse(text).ok()?)));
    number.is_some_and(|(text, uuid)| {
        uuid.get_version_num() == 4 && uuid.simple().to_string() == text
    })
}

async fn connect(client: ClientBuilder) -> Result<Client, Error> {
    client.watch_agents(true).connect().await
}

fn no_hub(url: &str, reason: String) -> String {
    let url = url.to_owned();
    Error::NoHub { url, reason }.to_string()
}

pub(super) fn is_connected(client: &Client) -> bool {
    matches!(&*client.connection().borrow(), Connection::Connected { .. })
}

/// Waits until the connection is closed for good, and tells why.
async fn closed(client: &Client) -> String {
    let mut connection = client.connection();
    loop {
        if let Connection::Closed { reason } = &*connection.borrow_and_update() {
            return reason.clone();
        }
        if connection.changed().await.is_err() {
            return "the client was closed".to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_peer_has_the_id_of_a_server() {
        let id = Uuid::new_v4();
        assert!(is_server(&format!("mcp-{}", id.simple())));
        assert!(is_server(&format!("alice.smith~mcp-{}", id.simple())));
        for other in [
            String::new(),
            "mcp-".to_owned(),
            "mcp-weather".to_owned(),
            "mcp-0a1b2c3d".to_owned(),
            format!("mcp-{id}"),
            format!("mcp-{}", id.simple().to_string().to_uppercase()),
            format!("mcp-{}", Uuid::now_v7().simple()),
            format!("client-{}", id.simple()),
        ] {
            assert!(!is_server(&other), "{other}");
        }
    }
}
