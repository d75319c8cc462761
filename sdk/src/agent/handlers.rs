//! Handlers of an agent, and the choice among them.

use std::sync::Arc;

use agenthub_proto::{
    a2a::{AgentCard, Message},
    agenthub::AgentEventMetadata,
};

use super::{
    Handler,
    routes::{Choice, Routes},
};
use crate::Conductor;

/// The handlers of an agent.
pub(super) struct Handlers {
    routes: Routes,
    named: Vec<Handler>,
    any: Option<Handler>,
}

/// The handler chosen for a message.
pub(super) enum Chosen {
    Handle(Handler),
    /// The requester is told that this agent does not do such things, and which it does.
    Reject(String),
    /// Leaves the message alone, for this reason.
    Ignore(&'static str),
}

impl Handlers {
    /// The handlers of the agent with this card, by the task types that they are for.
    pub(super) fn new(
        card: &AgentCard,
        named: Vec<(String, Handler)>,
        any: Option<Handler>,
    ) -> Self {
        let (names, named): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        Self {
            routes: Routes::new(card, names, any.is_some()),
            named,
            any,
        }
    }

    /// The handler of a message from the mailbox.
    pub(super) fn choose(&self, message: &Message, routing: &AgentEventMetadata) -> Chosen {
        let is_directed = !routing.to_agent_id.is_empty();
        self.chosen(
            self.routes
                .choose(message, &routing.from_agent_id, is_directed),
        )
    }

    /// The handler of a message that the agent begins a run with by itself.
    pub(super) fn choose_own(&self, message: &Message) -> Chosen {
        self.chosen(self.routes.choose(message, "", true))
    }

    fn chosen(&self, choice: Choice) -> Chosen {
        let handler = match choice {
            Choice::Handler(place) => self.named.get(place),
            Choice::Any => self.any.as_ref(),
            Choice::Reject(why) => return Chosen::Reject(why),
            Choice::Ignore(why) => return Chosen::Ignore(why),
        };
        match handler {
            Some(handler) => Chosen::Handle(handler.clone()),
            None => Chosen::Ignore("the agent has no handler for it"),
        }
    }

    /// The conductor of runs of this strategy: the one such a message gets, or else any that drives its runs so.
    pub(super) fn conductor(
        &self,
        message: &Message,
        routing: &AgentEventMetadata,
        strategy: &str,
    ) -> Option<Arc<dyn Conductor>> {
        let fits = |handler: &Handler| match handler {
            Handler::Conduct(conductor) if conductor.strategy().name() == strategy => {
                Some(Arc::clone(conductor))
            }
            Handler::Conduct(_) | Handler::Call(_) => None,
        };
        let chosen = match self.choose(message, routing) {
            Chosen::Handle(handler) => fits(&handler),
            Chosen::Reject(_) | Chosen::Ignore(_) => None,
        };
        chosen.or_else(|| self.named.iter().chain(&self.any).find_map(fits))
    }
}
