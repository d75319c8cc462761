//! The agents that a model is offered, their names as tools, and their descriptions.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use agenthub_proto::{
    a2a::{AgentCard, AgentSkill},
    slug::slug,
};
use agenthub_runs::{
    DelegationResult, Shortfall,
    model::{PresentedAgent, ToolSpec},
    tool_loop::{AvailableTool, CallForm, Peer, ToolQuery},
};
use serde_json::{Map, Value, json};

use super::{Peers, find, schemas::standing_alone, tasks};
use crate::{DirectoryEntry, bounds, contracts, relevance, task_type, tool::MAX_TOOLS};

/// Prefix of an agent's tool name.
const PREFIX: &str = "agent_";

/// Bounds on what a card says: texts in characters, the rest in items, schemas in bytes.
const MAX_DESCRIPTION: usize = 600;
const MAX_TEXT: usize = 160;
const MAX_SKILLS: usize = 16;
const MAX_EXAMPLES: usize = 2;
const MAX_SCHEMA: usize = 8 * 1024;
const MAX_SCHEMAS: usize = 128 * 1024;

/// The tools of a supervisor: its own, and for each agent that is here one, as many as there is room for. When some are left out, those
/// are kept that the model has found, then those that match the words best, and there is a tool to find others.
pub(super) fn offered(
    own: Vec<AvailableTool>,
    all: &[DirectoryEntry],
    excluded: &[String],
    query: &ToolQuery,
    peers: &Peers,
) -> Vec<AvailableTool> {
    let taken: HashSet<&str> = own.iter().map(|o| &*o.tool.name).collect();
    let names = names(all, &taken);
    let here: Vec<&Arc<AgentCard>> = here(all, excluded).collect();
    let room = MAX_TOOLS.saturating_sub(own.len());
    let chosen = match here.len() <= room {
        true => here.clone(),
        false => choose(&here, query, room.saturating_sub(1)),
    };
    let left_out = here.len() - chosen.len();
    let mut left = MAX_SCHEMAS;
    let peers = chosen
        .into_iter()
        .filter_map(|card| Some(offer(names.get(&*card.name)?, card, peers, &mut left)))
        .collect::<Vec<_>>();
    let find = (left_out > 0 && room > 0).then(|| find::tool(left_out));
    own.into_iter().chain(find).chain(peers).collect()
}

/// Every agent that is known as a tool, whether it is here or not, by id.
pub(crate) fn every(all: &[DirectoryEntry]) -> Vec<(&DirectoryEntry, AvailableTool)> {
    let names = names(all, &HashSet::new());
    let offered = all.iter().filter_map(|entry| {
        let name = names.get(&*entry.card.name)?;
        let mut left = MAX_SCHEMA;
        Some((entry, offer(name, &entry.card, &Peers::all(), &mut left)))
    });
    offered.collect()
}

/// The cards of the agents that are here and may be asked, by name.
pub(super) fn here<'a>(
    all: &'a [DirectoryEntry],
    excluded: &'a [String],
) -> impl Iterator<Item = &'a Arc<AgentCard>> {
    all.iter()
        .filter(|entry| entry.online && !excluded.contains(&entry.card.name))
        .map(|entry| &entry.card)
}

/// The tool name of every agent that is known, whether it is here or not, so that names change only when agents are made known.
///
/// It is `agent_` and the slug. A leading `agent_` is not doubled, unless the name is taken.
fn names<'a>(all: &'a [DirectoryEntry], taken: &HashSet<&str>) -> BTreeMap<&'a str, String> {
    let mut used: HashSet<String> = taken.iter().map(|&name| name.to_owned()).collect();
    used.insert(agenthub_runs::tool_loop::FIND_AGENTS.to_owned());
    let mut names = BTreeMap::new();
    let slugs: BTreeMap<&str, String> = all
        .iter()
        .map(|entry| (&*entry.card.name, slug(&entry.card.name)))
        .collect();
    let (prefixed, plain): (Vec<_>, Vec<_>) = slugs
        .into_iter()
        .partition(|(_, slug)| slug.starts_with(PREFIX));
    for (id, slug) in plain.into_iter().chain(prefixed) {
        let doubled = format!("{PREFIX}{slug}");
        let candidates = match slug.starts_with(PREFIX) {
            true => [slug, doubled],
            false => [doubled.clone(), format!("{PREFIX}{doubled}")],
        };
        // Slugs are the agents' own, so at most a tool of the supervisor stands in the way of both.
        let name = candidates
            .into_iter()
            .find(|name| name.len() <= 64 && !used.contains(name));
        if let Some(name) = name {
            used.insert(name.clone());
            names.insert(id, name);
        }
    }
    names
}

/// As many as there is room for, by name.
fn choose<'a>(
    here: &[&'a Arc<AgentCard>],
    query: &ToolQuery,
    room: usize,
) -> Vec<&'a Arc<AgentCard>> {
    let cards: Vec<relevance::Card<'_>> = here.iter().map(|card| (&***card).into()).collect();
    // What was found last is wanted most.
    let found = query.found.iter().rev();
    let found = found.filter_map(|id| here.iter().position(|card| card.name == *id));
    let ranked = relevance::rank(&query.words, &cards).into_iter();
    let mut chosen: Vec<usize> = Vec::new();
    for at in found.chain(ranked.map(|(at, _)| at)) {
        if chosen.len() < room && !chosen.contains(&at) {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| here[at]).collect()
}

/// An agent as a tool. Its schema takes of the bytes that are left; where it finds too few, it says no more than that there are data.
fn offer(name: &str, card: &AgentCard, peers: &Peers, left: &mut usize) -> AvailableTool {
    let skills = skills(card);
    let most = MAX_SCHEMA.min(*left);
    let fits = |schema: &Value| schema.to_string().len() <= most;
    let as_task = (peers.wanted() == CallForm::Task)
        .then(|| tasks::parameters(card))
        .flatten();
    let (calling, (description, own_words_at), parameters) = match as_task.filter(fits) {
        Some(parameters) => {
            let own = peers
                .is_own(card)
                .then(|| tasks::description(card))
                .flatten();
            let said = own.map_or_else(|| presented(card), |own| (own, 0));
            (CallForm::Task, said, parameters)
        }
        None => (
            CallForm::Request,
            presented(card),
            request(&skills, card, fits),
        ),
    };
    *left = left.saturating_sub(parameters.to_string().len());
    let tool = ToolSpec {
        name: name.to_owned(),
        description,
        parameters,
        agent: Some(PresentedAgent {
            id: card.name.clone(),
            own_words_at,
        }),
    };
    let agent = Some(Peer {
        id: card.name.clone(),
        skills,
        calling,
    });
    AvailableTool {
        tool,
        agent,
        needs_approval: false,
    }
}

/// The schema of `{ request, skill?, input? }`, with as much of what the agent takes as fits.
fn request(skills: &[String], card: &AgentCard, fits: impl Fn(&Value) -> bool) -> Value {
    let whole = Some(parameters(skills, input(card))).filter(&fits);
    let without_data = || Some(parameters(skills, any_input())).filter(&fits);
    whole
        .or_else(without_data)
        .unwrap_or_else(|| parameters(&[], any_input()))
}

/// The tools that ask the agent for each of its skills, each once.
fn skills(card: &AgentCard) -> Vec<String> {
    let mut known = HashSet::new();
    let types = card.skills.iter().map(|skill| task_type(card, skill));
    types
        .filter(|task_type| !task_type.is_empty() && known.insert(*task_type))
        .map(str::to_owned)
        .collect()
}

/// A description with the agent's own words, each text on a line of its own, and the byte at which they begin.
fn presented(card: &AgentCard) -> (String, usize) {
    let mut text = format!("Hands work to the agent {}.", line(&card.name, MAX_TEXT));
    let own = line(&card.description, MAX_DESCRIPTION);
    if !own.is_empty() {
        text.push_str(" It says of itself: ");
    }
    let own_words_at = text.len();
    text.push_str(&own);
    for skill in card.skills.iter().take(MAX_SKILLS) {
        text.push_str(&format!("\n- {}", described(card, skill)));
    }
    let more = card.skills.len().saturating_sub(MAX_SKILLS);
    if more > 0 {
        text.push_str(&format!("\n- and {more} more skills"));
    }
    (text, own_words_at)
}

fn described(card: &AgentCard, skill: &AgentSkill) -> String {
    let name = match skill.name.is_empty() {
        true => &skill.id,
        false => &skill.name,
    };
    let asked = task_type(card, skill);
    let mut text = format!("{}: {}", line(asked, MAX_TEXT), line(name, MAX_TEXT));
    let own = line(&skill.description, MAX_TEXT);
    if !own.is_empty() {
        text.push_str(&format!(". {own}"));
    }
    for example in skill.examples.iter().take(MAX_EXAMPLES) {
        text.push_str(&format!(" \"{}\"", line(example, MAX_TEXT)));
    }
    text
}

/// The text on one line, at most so many characters of it.
fn line(text: &str, max_chars: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text: String = words.join(" ").replace(char::is_control, "");
    match text.char_indices().nth(max_chars) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The schema of `{ request, skill?, input? }`.
fn parameters(skills: &[String], input: Value) -> Value {
    let mut properties = Map::new();
    let request = "What the agent shall do, in words that it understands without having seen this conversation";
    properties.insert(
        "request".to_owned(),
        json!({"type": "string", "description": request}),
    );
    if !skills.is_empty() {
        let which = "Which of its skills is meant; the first if not given";
        properties.insert(
            "skill".to_owned(),
            json!({"type": "string", "enum": skills, "description": which}),
        );
    }
    properties.insert("input".to_owned(), input);
    json!({
        "type": "object",
        "properties": properties,
        "required": ["request"],
        "additionalProperties": false,
    })
}

/// Any data.
fn any_input() -> Value {
    json!({"type": "object", "description": "The request as data, if the agent needs any"})
}

/// Schema of the data that the agent takes: as its skills describe it, else any.
fn input(card: &AgentCard) -> Value {
    let schemas: Vec<(String, Value)> = contracts(card)
        .into_iter()
        .filter_map(|(skill, contract)| Some((skill, contract.input?)))
        .take(MAX_SKILLS)
        .filter_map(|(skill, schema)| Some((skill, standing_alone(&schema)?)))
        .collect();
    match schemas.as_slice() {
        [] => any_input(),
        [(skill, schema)] if card.skills.len() == 1 => {
            let mut schema = schema.clone();
            schema["description"] = format!("The data for {}", line(skill, MAX_TEXT)).into();
            schema
        }
        several => {
            let given = several.iter().map(|(skill, schema)| {
                let mut schema = schema.clone();
                schema["description"] = format!("For the skill {}", line(skill, MAX_TEXT)).into();
                schema
            });
            let any = json!({"type": "object", "description": "For other skills"});
            let any = (several.len() < card.skills.len()).then_some(any);
            let all: Vec<Value> = given.chain(any).collect();
            json!({"anyOf": all, "description": "The request as data, as the skill takes it"})
        }
    }
}

/// An agent as `find_agents` tells of it.
pub(super) fn told(card: &Arc<AgentCard>) -> Value {
    let skills: Vec<Value> = card
        .skills
        .iter()
        .take(MAX_SKILLS)
        .map(|skill| {
            json!({
                "id": line(&skill.id, MAX_TEXT),
                "name": line(&skill.name, MAX_TEXT),
                "description": line(&skill.description, MAX_TEXT),
            })
        })
        .collect();
    json!({
        "id": card.name,
        "description": line(&card.description, MAX_DESCRIPTION),
        "skills": skills,
    })
}

/// An agent's answer, as much of it as a model can be told.
pub(super) fn bounded(mut delegated: DelegationResult) -> DelegationResult {
    delegated.text = bounds::head(delegated.text, bounds::MAX_TOLD);
    delegated.error = bounds::head(delegated.error, bounds::MAX_TOLD);
    let data = std::mem::take(&mut delegated.data);
    let shortfall = Shortfall::of(&data);
    delegated.data = match bounds::told(Value::Array(data)) {
        Value::Array(data) => data,
        // That an answer lacks something stays known.
        cut => {
            let mark = shortfall.map(|known| Shortfall::new(known.undone, Vec::new()).to_json());
            mark.into_iter().chain([cut]).collect()
        }
    };
    delegated
}

#[cfg(test)]
#[path = "peers_tests.rs"]
mod tests;
