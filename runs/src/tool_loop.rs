//! The tool loop: a model calls tools until it answers. The strategy of agents.
//!
//! Before each turn the run queries the available tools, since agents come and go. The calls of one turn run in
//! parallel; their results are returned to the model in the order of the calls. Every mistake of the model (an unknown
//! tool, arguments that do not fit, too many calls) is returned as the call's result, so that the model can correct it.
//! An answer with a form is validated, and requested again with its violations at most twice.

mod arguments;
mod consent;
mod failures;
mod form;
#[cfg(test)]
mod incremental;
mod input;
mod model_results;
mod peer;
mod shortened;
mod turns;

use serde::{Deserialize, Serialize};
use serde_json::json;

use self::turns::Turns;
use crate::{
    effect::{Effect, Step},
    event::RunOutcome,
    facts::Facts,
    id::StepId,
    model::PromptMessage,
    strategy::{Memory, Next, Strategy},
};

pub use self::{
    arguments::with_defaults,
    failures::ErrorMode,
    form::{AnswerForm, FormCheck, Verdict},
    input::{AvailableTool, Input, Limits},
    peer::{CallForm, Peer},
};

/// ToolQuery for the available tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolQuery {
    /// The request, for ranking agents.
    pub words: String,
    /// Agents that the model found and may call, whatever their rank.
    pub found: Vec<String>,
}

/// ToolQuery for the earlier conversation. Its result is a list of [`PromptMessage`]s.
pub const CONVERSATION: &str = "conversation";

/// Tool by which a model finds agents that are not offered. Its result names them in `agents[].id`.
pub const FIND_AGENTS: &str = "find_agents";

/// The tool loop.
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

/// The turns so far; or the first query, while it has no result.
fn begun(facts: &Facts) -> Result<Turns, Box<Next>> {
    let input = Input::deserialize(facts.input()).map_err(|error| {
        let error = format!("the run's input cannot be read: {error}");
        Next::Finish(RunOutcome::failed(error))
    })?;
    let earlier = recalled(&input, facts).map_err(|look| Next::Steps(vec![*look]))?;
    Ok(Turns::new(input, earlier))
}

/// The earlier conversation; or the query for it.
fn recalled(input: &Input, facts: &Facts) -> Result<Vec<PromptMessage>, Box<Step>> {
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
