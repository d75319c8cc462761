//! Asking a hub who somebody is: for programs at whose own doors others show tokens of the hub.

use std::time::Duration;

use agenthub_proto::{
    agenthub::{
        ListAgentsRequest, WhoAmIRequest, access_client::AccessClient,
        agent_hub_client::AgentHubClient,
    },
    bearer::Bearer,
    grpc::Transport,
    tls::ClientTls,
};
use tokio::{sync::Mutex, time::timeout};
use tonic::{Code, Status};

use crate::{
    Error,
    connection::{Connector, endpoint, no_connection, refusal, transport},
};

/// Deadline of one question, the connection included.
const DEADLINE: Duration = Duration::from_secs(5);

/// A hub that says who is who. It is connected to when it is asked first.
#[derive(Debug)]
pub struct WhoIs {
    url: String,
    tls: ClientTls,
    /// Its connection comes back by itself.
    transport: Mutex<Option<Transport>>,
}

/// Somebody whom a hub knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The name.
    pub principal: String,
    /// The namespace that the name belongs to.
    pub namespace: String,
    /// True on a hub that needs no identities: then everybody is the same.
    pub is_anonymous: bool,
}

/// Reasons why somebody cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotIdentified {
    /// The hub knows nobody by what was shown.
    #[error("{0}")]
    Unknown(String),
    /// Known, and without the rights that a client needs.
    #[error("{0}")]
    Denied(String),
    /// The hub does not say.
    #[error("{0}")]
    Unavailable(String),
}

impl WhoIs {
    /// The hub at this address.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`].
    pub fn at(url: &str) -> Result<Self, Error> {
        endpoint(url, DEADLINE)?;
        Ok(Self {
            url: url.to_owned(),
            tls: ClientTls::of_process().clone(),
            transport: Mutex::new(None),
        })
    }

    /// The caller who shows this token, or nothing, and may see who is here. Neither token nor certificate of this process make anybody known.
    ///
    /// # Errors
    ///
    /// See [`NotIdentified`].
    pub async fn shows(&self, token: Option<&str>) -> Result<Identity, NotIdentified> {
        let bearer = token.map(Bearer::new).transpose();
        let bearer = bearer.map_err(|error| NotIdentified::Unknown(error.to_string()))?;
        let asked = timeout(DEADLINE, self.ask(bearer)).await;
        asked.unwrap_or_else(|_| {
            let (url, within) = (self.url.clone(), DEADLINE);
            let silent = Error::Silent { url, within };
            Err(NotIdentified::Unavailable(silent.to_string()))
        })
    }

    async fn ask(&self, bearer: Option<Bearer>) -> Result<Identity, NotIdentified> {
        let is_token = bearer.is_some();
        let transport = self.connected().await?.with_bearer(bearer);
        let mut access = AccessClient::new(transport.clone());
        let identity = match access.who_am_i(WhoAmIRequest::default()).await {
            Ok(who) => {
                let who = who.into_inner();
                Identity {
                    principal: who.principal,
                    namespace: who.namespace,
                    is_anonymous: who.anonymous,
                }
            }
            // A hub of a version without identities.
            Err(status) if status.code() == Code::Unimplemented => Identity {
                principal: String::new(),
                namespace: String::new(),
                is_anonymous: true,
            },
            Err(status) => return Err(self.not_identified(&status)),
        };
        if !identity.is_anonymous && !is_token {
            let why = "this hub needs to know who calls: send `authorization: Bearer TOKEN`";
            return Err(NotIdentified::Unknown(why.to_owned()));
        }
        let one = ListAgentsRequest {
            page_size: 1,
            ..ListAgentsRequest::default()
        };
        let seen = AgentHubClient::new(transport).list_agents(one).await;
        seen.map_err(|status| self.not_identified(&status))?;
        Ok(identity)
    }

    async fn connected(&self) -> Result<Transport, NotIdentified> {
        let mut connected = self.transport.lock().await;
        if let Some(transport) = &*connected {
            return Ok(transport.clone());
        }
        let unavailable = |error: Error| NotIdentified::Unavailable(error.to_string());
        let (address, endpoint) = endpoint(&self.url, DEADLINE).map_err(unavailable)?;
        let opened = transport(address, &endpoint, Connector::Tcp, self.tls.clone()).await;
        let opened =
            opened.map_err(|error| unavailable(no_connection(&self.url, &error, &self.tls)))?;
        Ok(connected.insert(opened).clone())
    }

    fn not_identified(&self, status: &Status) -> NotIdentified {
        // What comes from the connection has a cause; what a hub says has none.
        match (status.code(), std::error::Error::source(status)) {
            (Code::Unauthenticated, None) => NotIdentified::Unknown(status.message().to_owned()),
            (Code::PermissionDenied, None) => NotIdentified::Denied(status.message().to_owned()),
            (_, None) => NotIdentified::Unavailable(status.message().to_owned()),
            (_, Some(_)) => {
                NotIdentified::Unavailable(refusal(&self.url, status, &self.tls).to_string())
            }
        }
    }
}
