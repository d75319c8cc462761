//! The hub, whether it is there or not.

use std::time::Duration;

use agenthub_sdk::{Client, Error, hub::Connection};
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

/// Time for which whoever needs the hub waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connection to the hub, found again whenever it is lost.
#[derive(Debug)]
pub(super) struct Hub {
    url: String,
    /// The id under which this server is known, so that it can go on with its tasks after a break.
    id: String,
    state: watch::Sender<State>,
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
    /// [`Error::InvalidUrl`].
    pub(super) async fn look(url: &str) -> Result<Self, Error> {
        let id = format!("{SERVER}{}", Uuid::new_v4().simple());
        let state = match timeout(FIRST, connect(url, &id)).await {
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
        connect(&self.url, id).await
    }

    /// Looks for the hub while it is away. Ends never; dropping the future leaves things as they are.
    pub(super) async fn keep(&self) {
        loop {
            let here = match &*self.state.borrow() {
                State::Here(client) => Some(client.clone()),
                State::Away(_) => None,
            };
            let client = match here {
                Some(client) => client,
                None => self.find().await,
            };
            tracing::info!(hub = self.url, "the hub is there");
            let why = closed(&client).await;
            tracing::warn!(why, "the hub closed the connection");
            self.state.send_replace(State::Away(no_hub(&self.url, why)));
            sleep(PAUSE).await;
        }
    }

    async fn find(&self) -> Client {
        let mut pause = PAUSE;
        loop {
            match connect(&self.url, &self.id).await {
                Ok(client) => {
                    self.state.send_replace(State::Here(client.clone()));
                    return client;
                }
                Err(error) => {
                    tracing::debug!(%error, "still no hub");
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

    /// The connection, also while it is being mended. Waited for a moment if there is none.
    ///
    /// # Errors
    ///
    /// The reason why there is no hub, and what can be done.
    pub(super) async fn client(&self) -> Result<Client, String> {
        let mut state = self.state();
        let here = state.wait_for(|state| matches!(state, State::Here(_)));
        let _ = timeout(PATIENCE, here).await;
        match &*self.state.borrow() {
            State::Here(client) => Ok(client.clone()),
            State::Away(why) => Err(why.clone()),
        }
    }

    /// The same, once it is whole.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub(super) async fn connected(&self) -> Result<Client, String> {
        let client = self.client().await?;
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
    let number = id.strip_prefix(SERVER);
    let number = number.and_then(|text| Some((text, Uuid::try_parse(text).ok()?)));
    number.is_some_and(|(text, uuid)| {
        uuid.get_version_num() == 4 && uuid.simple().to_string() == text
    })
}

async fn connect(url: &str, id: &str) -> Result<Client, Error> {
    let builder = Client::builder(url).agent_id(id).watch_agents(true);
    builder.connect().await
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
