//! An SOP as an agent of the hub.

mod files;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
};

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Skill, Tool,
    model::LanguageModel,
    proto::a2a::AgentCard,
    runs::tool_loop::{CallForm, ErrorMode as OnFailure, Limits},
    supervisor::Peers,
};
use agenthub_terminal::file_agent;
use serde_json::{Value, json};

use crate::{Definition, ErrorMode, Kind, team::identity};

/// Tag of every agent of an SOP.
const TAG: &str = "sop";

/// The agents that the rules of a definition may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Agents that its agent may ask, by id, at work or not.
    pub agents: BTreeSet<String>,
    /// Their ids by other names that the file has for them.
    pub aliases: BTreeMap<String, String>,
}

/// The agent that a definition describes: its card says who it is, with one skill that has the agent's name and takes its inputs; its model is
/// told the body. With `peers` it may ask these agents. What the journal says of its runs names the file, its rules and the agents that these may
/// name under `sop`.
pub fn agent(
    definition: &Arc<Definition>,
    model: Arc<dyn LanguageModel>,
    tools: Vec<Tool>,
    peers: Option<Peers>,
    named: &Named,
) -> AgentBuilder {
    let agent = match &peers {
        Some(_) => Agent::supervisor(card(definition)),
        None => Agent::worker(card(definition)),
    };
    let agent = agent
        .model(model)
        .instructions(&*definition.body)
        .limits(limits(definition))
        .error_mode(on_failure(definition.error_mode.unwrap_or_default()))
        .about(about(definition, named))
        // An SOP may become one that asks others.
        .watch_agents(true)
        .tools(tools)
        .tools(files::tool(definition));
    let agent = match definition.temperature {
        Some(temperature) => agent.temperature(temperature),
        None => agent,
    };
    match peers {
        Some(peers) => agent.peers(peers.calling(CallForm::Task)),
        None => agent,
    }
}

/// The entry on the definition in the journals of its agent's runs.
pub(crate) fn about(definition: &Definition, named: &Named) -> Value {
    json!({
        "sop": {
            "name": definition.name,
            "version": definition.version,
            "file": definition.path,
            "digest": definition.digest,
            "rules": definition.rules,
            "agents": named.agents,
            "aliases": named.aliases,
        },
    })
}

/// Limits of the agent's runs.
pub fn limits(definition: &Definition) -> Limits {
    let limits = Limits::default();
    Limits {
        turns: definition.turns.unwrap_or(limits.turns),
        ..limits
    }
}

/// Agents that the agent of a definition may ask: those of its folder that are here, and `named`, for an orchestrator; for others those alone
/// that their tools name. `None` if there are none.
pub fn peers(definition: &Definition, roster: &Roster, named: Vec<String>) -> Option<Peers> {
    let named: BTreeSet<String> = named.into_iter().collect();
    match definition.kind {
        Kind::Orchestrator => {
            let (roster, team) = (roster.clone(), roster.clone());
            let peers =
                Peers::chosen(move |card| roster.has(&card.name) || named.contains(&card.name));
            Some(peers.own(move |card| team.has(&card.name)))
        }
        Kind::Agent if named.is_empty() => None,
        Kind::Agent => Some(Peers::chosen(move |card| named.contains(&card.name))),
    }
}

/// The agents of a folder, orchestrators not among them. Cheap to clone; the clones are one.
#[derive(Clone, Debug, Default)]
pub struct Roster(Arc<RwLock<Names>>);

#[derive(Debug, Default)]
struct Names {
    written: BTreeSet<String>,
    at_work: BTreeSet<String>,
}

impl Roster {
    /// True if the agent with this id is at work.
    pub fn has(&self, id: &str) -> bool {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.at_work.contains(id)
    }

    /// The agents that there are files of, at work or not.
    pub fn written(&self) -> BTreeSet<String> {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.written.clone()
    }

    pub(crate) fn set_written(&self, ids: BTreeSet<String>) {
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        names.written = ids;
    }

    pub(crate) fn set_at_work(&self, ids: BTreeSet<String>) {
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        names.at_work = ids;
    }
}

fn card(definition: &Definition) -> AgentCard {
    let name = &*definition.name;
    let kind = match definition.kind {
        Kind::Agent => "agent",
        Kind::Orchestrator => "orchestrator",
    };
    let skill = Skill::new(name, name, &*definition.description).tags([TAG, kind]);
    let takes_inputs = definition.schema["properties"]
        .as_object()
        .is_some_and(|inputs| !inputs.is_empty());
    let card = Card::new(name, &*definition.description);
    let card = match takes_inputs {
        true => card
            .skill(skill.modes(["text/plain", "application/json"], ["text/plain"]))
            .input_schema(name, definition.schema.clone()),
        false => card.skill(skill),
    };
    let card = match &definition.version {
        Some(version) => card.version(version),
        // Built in: it does not change.
        None if definition.digest.is_empty() => card,
        None => card.version(file_agent::unnumbered(&definition.digest)),
    };
    let mut card = AgentCard::from(card);
    identity::file_of(definition).mark(&mut card);
    card
}

fn on_failure(mode: ErrorMode) -> OnFailure {
    match mode {
        ErrorMode::FailFast => OnFailure::FailFast,
        ErrorMode::Continue => OnFailure::Continue,
    }
}
