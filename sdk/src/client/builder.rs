//! From an address to a client.

use std::{
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    agenthub::{AgentEvent, WhoAmIRequest, access_client::AccessClient},
    bearer::Bearer,
    grpc::{InProcess, Transport},
    tls::ClientTls,
};
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::Code;
use uuid::Uuid;

use super::{Calls, Client, Inner};
use crate::{
    Directory, Error,
    approvals::Approvals,
    connection::{
        Connector, Inbound, OnReply, Peer, Work, dial, endpoint, no_connection, refusal, start,
        transport,
    },
    deadline::Clock,
    pending::{self, Table},
};

/// Builder of a [`Client`].
#[derive(Clone, Debug)]
pub struct ClientBuilder {
    pub(crate) peer: Peer,
    pub(crate) watch_agents: bool,
    pub(crate) connector: Connector,
    pub(crate) clock: Clock,
    on_reply: Option<OnReply>,
    pub(crate) bearer: Option<Bearer>,
    /// The id is nobody's: on a hub with identities it begins with the caller's principal.
    is_temporary: bool,
}

impl ClientBuilder {
    pub(super) fn new(url: String) -> Self {
        let instance_id = Uuid::now_v7().to_string();
        Self {
            peer: Peer {
                url,
                agent_id: format!("client-{instance_id}"),
                card: None,
                instance_id,
                topics: Vec::new(),
                health_check_url: String::new(),
                connect_timeout: Duration::from_secs(5),
                tls: ClientTls::of_process().clone(),
            },
            watch_agents: false,
            connector: Connector::default(),
            clock: SystemTime::now,
            on_reply: None,
            bearer: Bearer::of_process(),
            is_temporary: true,
        }
    }

    /// The id to be known by: printable, at most 128 bytes. Made up if not given.
    #[must_use]
    pub fn agent_id(mut self, agent_id: impl Into<String>) -> Self {
        self.peer.agent_id = agent_id.into();
        self.is_temporary = false;
        self
    }

    /// An id for somebody who is no agent, such as a command. On a hub with identities it is `PRINCIPAL.ID`, which everybody may be.
    #[must_use]
    pub fn temporary_id(mut self, id: impl Into<String>) -> Self {
        self.peer.agent_id = id.into();
        self.is_temporary = true;
        self
    }

    /// The token that says who calls; that of the variable `AGENTHUB_TOKEN` if not given. `agenthub tokens issue` makes one.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it cannot be one.
    pub fn token(mut self, token: &str) -> Result<Self, Error> {
        let bearer = Bearer::new(token).map_err(|error| Error::Invalid(error.to_string()))?;
        self.bearer = Some(bearer);
        Ok(self)
    }

    /// Shows neither the token nor the certificate of this process, as somebody whom the hub does not know.
    #[must_use]
    pub fn without_identity(mut self) -> Self {
        self.bearer = None;
        self.peer.tls = self.peer.tls.without_identity();
        self
    }

    /// Keeps [`Client::directory`] up to date.
    #[must_use]
    pub fn watch_agents(mut self, watch: bool) -> Self {
        self.watch_agents = watch;
        self
    }

    /// Deadline of one try to connect; 5 s if not given.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.peer.connect_timeout = timeout;
        self
    }

    /// The certificates of connections to `https://…`; those that `AGENTHUB_CA`, `AGENTHUB_CERT` and `AGENTHUB_KEY` name if not given.
    #[must_use]
    pub fn tls(mut self, tls: ClientTls) -> Self {
        self.peer.tls = tls;
        self
    }

    /// Opens connections in another way than over TCP: through a tunnel, or in a simulated network. `open` gets the address as
    /// `host:port` and is called again after every break; a try ends with [`connect_timeout`](Self::connect_timeout). TLS is spoken over
    /// these streams if the address begins with `https://`.
    #[must_use]
    pub fn connector<O, F, S>(mut self, open: O) -> Self
    where
        O: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        self.connector = Connector::streams(open);
        self
    }

    /// Calls the services of a hub in this process, instead of connecting to the address.
    #[must_use]
    pub fn in_process(mut self, hub: InProcess) -> Self {
        self.connector = Connector::InProcess(hub);
        self
    }

    /// The clock that deadlines are told by, if not the system's: for tests.
    #[must_use]
    pub fn clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }

    /// Calls this with each event of the tasks that this client has requested, in order, before anybody else here has it. It must not block. The
    /// hub gives up events that a client does not take for too long; the state of the [connection](Client::connection) changes then.
    #[must_use]
    pub fn on_reply(mut self, hook: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Self {
        self.on_reply = Some(OnReply(Arc::new(hook)));
        self
    }

    /// Connects, once; a later break is mended without end.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`], [`Error::NoHub`], [`Error::Silent`], [`Error::Insecure`], [`Error::NotAHub`] or [`Error::Refused`].
    pub async fn connect(self) -> Result<Client, Error> {
        self.connect_with(None).await
    }

    /// Connects with an inbox. An object, as the body of an async function is compiled where it is polled: what serves the connection
    /// would have the caller's optimisation, not this crate's.
    pub(crate) fn connect_with(
        self,
        work: Option<Work>,
    ) -> BoxFuture<'static, Result<Client, Error>> {
        Box::pin(self.open(work))
    }

    async fn open(self, work: Option<Work>) -> Result<Client, Error> {
        let Self {
            mut peer,
            watch_agents,
            connector,
            clock,
            on_reply,
            bearer,
            is_temporary,
        } = self;
        let (address, endpoint) = endpoint(&peer.url, peer.connect_timeout)?;
        let is_tls = address.is_tls();
        let transport = transport(address, &endpoint, connector, peer.tls.clone());
        let transport = timeout(peer.connect_timeout, transport)
            .await
            .map_err(|_| Error::Silent {
                url: peer.url.clone(),
                within: peer.connect_timeout,
            })?
            .map_err(|error| no_connection(&peer.url, &error, &peer.tls))?
            .with_bearer(bearer);
        let shows_who = transport.has_bearer() || (is_tls && peer.tls.has_identity());
        if is_temporary && peer.card.is_none() && shows_who {
            peer.agent_id = own_id(&transport, &peer).await?;
        }

        let replies = Arc::new(Table::default());
        let directory = Directory::new();
        let inbound = Inbound {
            work,
            replies: Arc::clone(&replies),
            on_reply,
            directory: watch_agents.then(|| directory.clone()),
            clock,
        };
        let hello = peer.hello(&inbound);
        let dialed = dial(
            &transport,
            &peer.url,
            &peer.tls,
            hello,
            peer.connect_timeout,
        )
        .await?;

        let calls = Calls::new(transport.clone());
        let closed = CancellationToken::new();
        let tasks = TaskTracker::new();
        let instance_id = peer.instance_id.clone();
        let link = start(peer, transport, dialed, inbound, closed.clone(), &tasks);
        let watch = pending::watch::run(
            Arc::clone(&replies),
            calls.clone(),
            link.connection(),
            closed.clone(),
        );
        tasks.spawn(watch);
        Ok(Client {
            inner: Arc::new(Inner {
                link,
                calls,
                replies,
                directory,
                approvals: Approvals::default(),
                instance_id,
                clock,
                tasks,
                _close_on_drop: closed.clone().drop_guard(),
                closed,
            }),
        })
    }
}

/// The temporary id of a caller that shows who it is.
async fn own_id(transport: &Transport, peer: &Peer) -> Result<String, Error> {
    let mut access = AccessClient::new(transport.clone());
    let asked = access.who_am_i(WhoAmIRequest::default());
    match timeout(peer.connect_timeout, asked).await {
        Ok(Ok(who)) if !who.get_ref().anonymous => Ok(agenthub_proto::own_id(
            &who.get_ref().principal,
            &peer.agent_id,
        )),
        // A hub without identities, or one of a version that has none.
        Ok(Ok(_)) => Ok(peer.agent_id.clone()),
        Ok(Err(status)) if status.code() == Code::Unimplemented => Ok(peer.agent_id.clone()),
        Ok(Err(status)) => Err(refusal(&peer.url, &status, &peer.tls)),
        Err(_) => Err(Error::Silent {
            url: peer.url.clone(),
            within: peer.connect_timeout,
        }),
    }
}

#[cfg(feature = "testing")]
impl Client {
    /// A client that has no hub: `take` takes what is published, and calls fail. Needs a tokio runtime.
    pub(crate) fn without_hub(
        take: impl FnMut(agenthub_proto::agenthub::Publish) -> Result<crate::Published, Error>
        + Send
        + 'static,
    ) -> Self {
        use crate::connection::nowhere;

        let (link, carried_out) = nowhere::link("agent", take);
        let tasks = TaskTracker::new();
        let closed = CancellationToken::new();
        let ended = closed.clone();
        tasks.spawn(async move {
            ended.run_until_cancelled(carried_out).await;
        });
        Self {
            inner: Arc::new(Inner {
                link,
                calls: Calls::new(nowhere::transport()),
                replies: Arc::default(),
                directory: Directory::new(),
                approvals: Approvals::default(),
                instance_id: Uuid::now_v7().to_string(),
                clock: SystemTime::now,
                tasks,
                _close_on_drop: closed.clone().drop_guard(),
                closed,
            }),
        }
    }
}
