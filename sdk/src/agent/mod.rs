//! An agent: a card, and a handler for each kind of work.

mod answer;
mod builder;
mod dispatcher;
mod in_flight;
mod routes;
mod running;
mod slots;
mod work;

use std::sync::Arc;

use agenthub_proto::a2a::AgentCard;
use futures_util::future::BoxFuture;

pub use builder::AgentBuilder;
pub(crate) use in_flight::{InFlight, InFlightGuard, StopReason, StopSignal};
pub use running::RunningAgent;
pub(crate) use slots::{Lent, Slots};

use crate::{Conductor, Error, Failure, Reply, TaskContext};

/// What an agent is to others. It never changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentType {
    /// It does its work itself.
    #[default]
    Worker,
    /// It leads others.
    Supervisor,
}

impl AgentType {
    /// As status updates and cards have it: `worker` or `supervisor`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Supervisor => "supervisor",
        }
    }
}

/// An agent, ready to work. It does not change any more.
#[derive(Clone, Debug)]
pub struct Agent {
    parts: AgentBuilder,
}

impl Agent {
    /// An agent that does its work itself.
    pub fn worker(card: impl Into<AgentCard>) -> AgentBuilder {
        AgentBuilder::new(AgentType::Worker, card.into())
    }

    /// An agent that leads others.
    pub fn supervisor(card: impl Into<AgentCard>) -> AgentBuilder {
        AgentBuilder::new(AgentType::Supervisor, card.into())
    }

    /// What the agent is to others.
    pub fn agent_type(&self) -> AgentType {
        self.parts.agent_type
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        self.parts.card()
    }

    /// Registers with the hub at this address and works until SIGTERM or SIGINT, then [stops](RunningAgent::stop).
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start), and [`Error::Closed`] if the hub ends the connection for good.
    pub async fn run(self, hub_url: impl Into<String>) -> Result<(), Error> {
        running::run(self.parts, hub_url.into()).await
    }

    /// Registers with the hub at this address and works until it is [stopped](RunningAgent::stop).
    ///
    /// # Errors
    ///
    /// Those of [`ClientBuilder::connect`](crate::ClientBuilder::connect).
    pub async fn start(self, hub_url: impl Into<String>) -> Result<RunningAgent, Error> {
        running::start(self.parts, hub_url.into()).await
    }
}

/// What is done with a message.
#[derive(Clone)]
pub(crate) enum Handler {
    /// A function is called.
    Call(Arc<dyn Fn(TaskContext) -> BoxFuture<'static, Result<Reply, Failure>> + Send + Sync>),
    /// It becomes a run.
    Conduct(Arc<dyn Conductor>),
}
