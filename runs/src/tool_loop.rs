//! A model and its tools, until the model answers: the strategy of agents.
//!
//! Before each turn the run looks which tools there are, since agents come and go. The calls of one turn go out together; what they
//! gave is told to the model in the order in which it asked. Whatever the model gets wrong (a tool that is not there, arguments that do
//! not fit, a call too many) comes back to it as the call's result, so that it can mend it. An answer that is to be data is looked at, and
//! asked for again with what is wrong with it, at most twice.

mod arguments;
mod failures;
mod form;
#[cfg(test)]
mod going_on;
mod input;
mod peer;
mod shortened;
mod told;
mod turns;

use serde::{Deserialize, Serialize};
use serde_json::json;

use self::turns::Turns;
use crate::{
    effect::{Effect, Step},
    event::RunOutcome,
    facts::Facts,
    id::StepId,
    model::Message,
    strategy::{Memory, Next, Strategy},
};

pub use self::{
    arguments::with_defaults,
    failures::ErrorMode,
    form::{Form, Look, Verdict},
    input::{Input, Limits, Offered},
    peer::{Calling, Peer},
};

/// What a look asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Query {
    /// What was asked, to choose among many.
    pub words: String,
    /// Agents that the model has found and may call, whatever their match.
    pub found: Vec<String>,
}

/// What a look for the earlier conversation asks for. It sees a list of [`Message`]s.
pub const CONVERSATION: &str = "conversation";

/// The tool by which a model finds agents that are not offered. Its result names them in `agents[].id`.
pub const FIND_AGENTS: &str = "find_agents";

/// The strategy.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolLoop;

impl Strategy for ToolLoop {
    fn name(&self) -> &'static str {
        "tool_loop"
    }

    fn next(&self, facts: &Facts) -> Next {
        match begun(facts) {
            Ok(mut turns) => turns.next(facts),
            Err(next) => *next,
        }
    }

    fn advance(&self, facts: &Facts, memory: &mut Memory) -> Next {
        let mut turns = match memory.take::<Turns>() {
            Some(turns) => turns,
            None => match begun(facts) {
                Ok(turns) => turns,
                Err(next) => return *next,
            },
        };
        let next = turns.next(facts);
        memory.leave(turns);
        next
    }

    fn cut_short(&self, facts: &Facts, error: &str) -> RunOutcome {
        match begun(facts) {
            Ok(turns) => turns.cut_short(facts, error),
            Err(_) => RunOutcome::failed(error),
        }
    }
}

/// The turns, from the first one; what is to be done before, while they cannot begin.
fn begun(facts: &Facts) -> Result<Turns, Box<Next>> {
    let input = Input::deserialize(facts.input()).map_err(|error| {
        let error = format!("the run's input cannot be read: {error}");
        Next::Finish(RunOutcome::failed(error))
    })?;
    let earlier = recalled(&input, facts).map_err(|look| Next::Steps(vec![*look]))?;
    Ok(Turns::new(input, earlier))
}

/// What was said before; a look, while that is not known.
fn recalled(input: &Input, facts: &Facts) -> Result<Vec<Message>, Box<Step>> {
    if !input.conversation {
        return Ok(Vec::new());
    }
    let look = StepId::new(format!("look-{CONVERSATION}"));
    match facts.observed(&look) {
        Some(seen) => Ok(Vec::deserialize(seen).unwrap_or_default()),
        None => Err(Box::new(Step::new(
            look.as_str(),
            Effect::Look(json!(CONVERSATION)),
        ))),
    }
}
