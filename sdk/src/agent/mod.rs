//! An agent: a card, and a handler for each kind of work.

mod answer;
mod dispatcher;
mod in_flight;
mod routes;
mod running;
mod slots;
mod work;

use std::{io, sync::Arc, time::Duration};

use agenthub_proto::a2a::AgentCard;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use in_flight::{InFlight, InFlightGuard, StopReason, StopSignal};
pub use running::RunningAgent;
pub(crate) use slots::{Lent, Slots};

use crate::{Error, Failure, Reply, TaskContext, connection::Connector};

/// Where agents begin.
#[derive(Debug)]
pub struct Agent;

impl Agent {
    /// An agent that does its work itself.
    pub fn worker(card: impl Into<AgentCard>) -> AgentBuilder {
        AgentBuilder::new(card.into())
    }
}

pub(crate) type Handler =
    Arc<dyn Fn(TaskContext) -> BoxFuture<'static, Result<Reply, Failure>> + Send + Sync>;

/// How an agent is to be.
#[derive(Clone)]
pub struct AgentBuilder {
    card: AgentCard,
    handlers: Vec<(String, Handler)>,
    any: Option<Handler>,
    concurrency: u32,
    instance_id: Option<String>,
    topics: Vec<String>,
    health_check_url: String,
    watch_agents: bool,
    drain_timeout: Duration,
    connect_timeout: Option<Duration>,
    connector: Option<Connector>,
}

impl AgentBuilder {
    fn new(card: AgentCard) -> Self {
        Self {
            card,
            handlers: Vec::new(),
            any: None,
            concurrency: 64,
            instance_id: None,
            topics: Vec::new(),
            health_check_url: String::new(),
            watch_agents: false,
            drain_timeout: Duration::from_secs(10),
            connect_timeout: None,
            connector: None,
        }
    }

    /// Handles the messages of this task type, or for the skill with this id or name. The agent registers for it. Handlers are
    /// called in the order in which messages come and then run at the same time, but for messages of one task, which wait for
    /// each other. A message to this agent without a task type goes to the first handler, unless there is one for
    /// [any](Self::on_any).
    #[must_use]
    pub fn on<H, F, R, E>(mut self, task_type: impl Into<String>, handler: H) -> Self
    where
        H: Fn(TaskContext) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Reply>,
        E: Into<Failure>,
    {
        self.handlers.push((task_type.into(), boxed(handler)));
        self
    }

    /// Handles the messages that no other handler is for, broadcasts and answers without a task among them.
    #[must_use]
    pub fn on_any<H, F, R, E>(mut self, handler: H) -> Self
    where
        H: Fn(TaskContext) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Reply>,
        E: Into<Failure>,
    {
        self.any = Some(boxed(handler));
        self
    }

    /// How many messages are handled at the same time; 64 if not given. A handler that waits for an agent which it asked does not
    /// count (up to as many again, at least 16), so that agents can ask each other.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u32) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// The id of this process; made up if not given. Two running processes must not share one.
    #[must_use]
    pub fn instance_id(mut self, instance_id: impl Into<String>) -> Self {
        self.instance_id = Some(instance_id.into());
        self
    }

    /// Further task types to register for.
    #[must_use]
    pub fn topics<S: Into<String>>(mut self, topics: impl IntoIterator<Item = S>) -> Self {
        self.topics.extend(topics.into_iter().map(Into::into));
        self
    }

    /// Where the hub may ask with GET whether the agent is well while it has no connection.
    #[must_use]
    pub fn health_check_url(mut self, url: impl Into<String>) -> Self {
        self.health_check_url = url.into();
        self
    }

    /// Keeps [`Client::directory`](crate::Client::directory) up to date.
    #[must_use]
    pub fn watch_agents(mut self, watch: bool) -> Self {
        self.watch_agents = watch;
        self
    }

    /// How long handlers may go on after [`RunningAgent::stop`]; 10 s if not given.
    #[must_use]
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// How long one try to connect may take; 5 s if not given.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Opens connections in another way than over TCP, see [`ClientBuilder::connector`](crate::ClientBuilder::connector).
    #[must_use]
    pub fn connector<O, F, S>(mut self, open: O) -> Self
    where
        O: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        self.connector = Some(Connector::new(open));
        self
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// Registers with the hub at this address and works until SIGTERM or SIGINT, then [stops](RunningAgent::stop).
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start), and [`Error::Closed`] if the hub ends the connection for good.
    pub async fn run(self, hub_url: impl Into<String>) -> Result<(), Error> {
        running::run(self, hub_url.into()).await
    }

    /// Registers with the hub at this address and works until it is [stopped](RunningAgent::stop).
    ///
    /// # Errors
    ///
    /// Those of [`ClientBuilder::connect`](crate::ClientBuilder::connect), and [`Error::Invalid`] for an agent without a name or a
    /// handler.
    pub async fn start(self, hub_url: impl Into<String>) -> Result<RunningAgent, Error> {
        running::start(self, hub_url.into()).await
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("card", &self.card.name)
            .finish_non_exhaustive()
    }
}

fn boxed<H, F, R, E>(handler: H) -> Handler
where
    H: Fn(TaskContext) -> F + Send + Sync + 'static,
    F: Future<Output = Result<R, E>> + Send + 'static,
    R: Into<Reply>,
    E: Into<Failure>,
{
    Arc::new(move |context| {
        let future = handler(context);
        Box::pin(async move { future.await.map(Into::into).map_err(Into::into) })
    })
}
