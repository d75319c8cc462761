//! An agent: a card, and a handler for each kind of work.

mod agent_type;
mod answer;
mod builder;
mod conducted;
mod dispatcher;
mod duty;
mod ending;
mod executing;
mod follow_ups;
mod giving_up;
mod handlers;
mod hosted;
mod in_flight;
mod intake;
mod lost;
mod model;
mod origin;
mod own_runs;
mod questions;
mod recovery;
mod routes;
mod running;
mod runs;
mod slots;
mod wanted;
mod work;

use std::sync::Arc;

use agenthub_proto::a2a::{AgentCard, Message};
use agenthub_runs::{RunId, RunStarted};
use futures_util::future::BoxFuture;

pub(crate) use agent_type::AGENT_TYPE;
pub use agent_type::AgentType;
pub use agent_type::is_of_sdk;
pub(crate) use answer::publishes_of;
pub use builder::AgentBuilder;
pub use executing::{ExecuteError, Executed, ExecutedRun};
pub(crate) use follow_ups::FollowUps;
pub use follow_ups::{FollowUp, follow_up};
pub(crate) use in_flight::{InFlight, InFlightGuard, StopReason, StopSignal};
pub use own_runs::{BeginError, RunStarter};
pub(crate) use questions::{Answer, Asked, OpenQuestion, Questions, mark};
pub use running::RunningAgent;

pub(crate) use slots::{LentSlot, Slots};

use crate::{Conductor, Error, Failure, Reply, TaskContext};

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

    /// Type of the agent.
    pub fn agent_type(&self) -> AgentType {
        self.parts.agent_type
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        self.parts.card()
    }

    /// The run that an agent makes of the message with which a task begins: the same however often the message is delivered.
    pub fn run_of(agent_id: &str, task_id: &str, message_id: &str) -> RunId {
        RunId::of(&[agent_id, task_id, message_id])
    }

    /// The message that a run is for; nothing for a run that no agent made of a message.
    pub fn message_of(started: &RunStarted) -> Option<Message> {
        origin::Origin::read(&started.origin).map(|origin| origin.message)
    }

    /// The task of which a run's own task is a part; empty for a run that nobody at work asked for.
    pub fn parent_of(started: &RunStarted) -> String {
        let origin = origin::Origin::read(&started.origin);
        origin.map_or_else(String::new, |origin| origin.routing.parent_task_id)
    }

    /// Registers with the hub at this address and works until SIGTERM or SIGINT, then [stops](RunningAgent::stop).
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start), and [`Error::Closed`] if the hub ends the connection for good.
    pub async fn run(self, hub_url: impl Into<String>) -> Result<(), Error> {
        self.run_until(hub_url, running::asked_to_stop()).await
    }

    /// Registers with the hub at this address and works until `shutdown` is ready, then [stops](RunningAgent::stop).
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub async fn run_until(
        self,
        hub_url: impl Into<String>,
        shutdown: impl Future,
    ) -> Result<(), Error> {
        running::run_until(self.parts, hub_url.into(), shutdown).await
    }

    /// Registers with the hub at this address and works until it is [stopped](RunningAgent::stop).
    ///
    /// # Errors
    ///
    /// Those of [`ClientBuilder::connect`](crate::hub::ClientBuilder::connect).
    pub async fn start(self, hub_url: impl Into<String>) -> Result<RunningAgent, Error> {
        running::start(self.parts, hub_url.into()).await
    }
}

/// A function that handles messages.
pub(crate) type Function =
    Arc<dyn Fn(TaskContext) -> BoxFuture<'static, Result<Reply, Failure>> + Send + Sync>;

/// Handling of a message.
#[derive(Clone)]
pub(crate) enum Handler {
    /// A function is called.
    Call(Function),
    /// Makes a run of the message.
    Conduct(Arc<dyn Conductor>),
}

/// The function that an agent handles a message with.
///
/// # Errors
///
/// The agent cannot be built, has no handler for it, or has a conductor or model for it.
#[cfg(feature = "testing")]
pub(crate) fn function_for(
    agent: AgentBuilder,
    message: &Message,
    routing: &agenthub_proto::agenthub::AgentEventMetadata,
) -> Result<Function, Failure> {
    let parts = agent.build()?.parts;
    let handlers = handlers::Handlers::new(&parts.card, parts.handlers, parts.any);
    match handlers.choose(message, routing) {
        handlers::Chosen::Handle(Handler::Call(function)) => Ok(function),
        handlers::Chosen::Handle(Handler::Conduct(_)) => Err(Failure::failed(
            "a run would be made of it, which takes a hub: start the agent on a TestHub",
        )),
        handlers::Chosen::Reject(why) => Err(Failure::rejected(why)),
        handlers::Chosen::Ignore(why) => Err(Failure::rejected(why)),
    }
}
