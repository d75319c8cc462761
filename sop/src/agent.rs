//! An SOP as an agent of the hub.

use std::sync::Arc;

use agenthub_sdk::{Agent, AgentBuilder, Card, Skill, Tool, model::LanguageModel};

use crate::{Definition, Kind};

/// The agent that a definition describes.
pub fn agent(
    definition: &Arc<Definition>,
    model: Arc<dyn LanguageModel>,
    tools: Vec<Tool>,
) -> AgentBuilder {
    let card = Card::new(&*definition.name, &*definition.description).skill(Skill::new(
        &*definition.name,
        &*definition.name,
        &*definition.description,
    ));
    let agent = match definition.kind {
        Kind::Orchestrator => Agent::supervisor(card),
        Kind::Agent => Agent::worker(card),
    };
    agent
        .model(model)
        .instructions(&*definition.body)
        .tools(tools)
}
