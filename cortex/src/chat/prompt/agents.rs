//! The agents that are here, as a model is shown them.

use std::{collections::HashSet, sync::Arc};

use agenthub_proto::a2a::{AgentCard, AgentSkill};
use agenthub_sdk::internal::{contracts, relevance, task_type};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::chat::decision::{Candidate, Skill};

/// The most agents that one prompt shows.
pub(crate) const MAX_AGENTS: usize = 64;

/// The most bytes of JSON that one card takes of the prompt; skills at its end are left out and counted. What skills take is shown as far
/// as there is room after them.
const MAX_CARD: usize = 6_000;

/// Bounds on the parts of a card: texts in characters, the rest in items.
const MAX_DESCRIPTION: usize = 600;
const MAX_TEXT: usize = 200;
const MAX_SKILLS: usize = 24;
const MAX_ITEMS: usize = 16;

/// An agent that is here.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    /// Its card.
    pub(crate) card: Arc<AgentCard>,
    /// The task types that it registered for, if known.
    pub(crate) topics: Option<Vec<String>>,
}

/// The agents that the user's words name, by their ids. Journals hold it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    /// Agents that are here.
    pub(crate) here: Vec<String>,
    /// Agents that the hub knows and that are not here now.
    pub(crate) away: Vec<String>,
}

impl Named {
    /// Finds the agents of these cards that the words name.
    pub(crate) fn of(words: &str, here: &[&AgentCard], away: &[&AgentCard]) -> Self {
        let named = |cards: &[&AgentCard]| -> Vec<String> {
            let known: Vec<relevance::Card<'_>> = cards.iter().map(|card| (*card).into()).collect();
            let found = relevance::named(words, &known).into_iter().take(MAX_ITEMS);
            found.map(|index| cards[index].name.clone()).collect()
        };
        Self {
            here: named(here),
            away: named(away),
        }
    }

    /// True if they name nobody.
    pub(crate) fn is_empty(&self) -> bool {
        self.here.is_empty() && self.away.is_empty()
    }
}

/// The agents that a decision may choose: at most [`MAX_AGENTS`], bounded as the prompt shows them. Journals hold it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Agents {
    cards: Vec<Value>,
    candidates: Vec<Candidate>,
    left_out: usize,
}

impl Agents {
    /// Shows these agents, or, if they are too many, those that match the words best. In the order in which they came.
    pub(crate) fn of(present: &[Present], words: &str) -> Self {
        let shown = choose(present, words);
        Self {
            cards: shown.iter().map(|agent| card(agent)).collect(),
            candidates: shown.iter().map(|agent| candidate(agent)).collect(),
            left_out: present.len() - shown.len(),
        }
    }

    /// Content of the prompt's `agents` block.
    pub(crate) fn to_json(&self) -> Value {
        self.cards.clone().into()
    }

    /// The agents that a decision is checked against.
    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Number of agents that are here and not shown.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }
}

fn choose<'a>(present: &'a [Present], words: &str) -> Vec<&'a Present> {
    if present.len() <= MAX_AGENTS {
        return present.iter().collect();
    }
    let cards: Vec<relevance::Card<'_>> = present.iter().map(|a| (&*a.card).into()).collect();
    let named = relevance::named(words, &cards).into_iter();
    let ranked = relevance::rank(words, &cards).into_iter();
    let by_order = 0..present.len();
    let mut chosen = HashSet::new();
    for index in named.chain(ranked.map(|(index, _)| index)).chain(by_order) {
        if chosen.len() == MAX_AGENTS {
            break;
        }
        chosen.insert(index);
    }
    let agents = present.iter().enumerate();
    agents
        .filter(|(index, _)| chosen.contains(index))
        .map(|(_, agent)| agent)
        .collect()
}

fn candidate(agent: &Present) -> Candidate {
    let skills = agent.card.skills.iter().map(|s| Skill {
        id: s.id.clone(),
        name: s.name.clone(),
        task_type: match task_type(&agent.card, s) {
            of_id if of_id == s.id => String::new(),
            other => other.to_owned(),
        },
    });
    Candidate {
        id: agent.card.name.clone(),
        skills: skills.collect(),
        topics: agent.topics.clone(),
    }
}

fn card(agent: &Present) -> Value {
    let mut room = MAX_CARD;
    let skills = agent.card.skills.iter().take(MAX_SKILLS).map(skill_json);
    let mut skills: Vec<Value> = skills
        .take_while(|skill| {
            let size = skill.to_string().len();
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .collect();
    let mut contracts = contracts(&agent.card);
    let schemas = agent.card.skills.iter().take(skills.len()).map(|skill| {
        let contract = contracts.remove(&skill.id);
        contract.and_then(|contract| contract.input)
    });
    let schemas: Vec<Option<Value>> = schemas.collect();
    let all: usize = schemas.iter().flatten().map(size).sum();
    // Where there is no room for all, names and types say most.
    let is_short = all > room;
    for (value, schema) in skills.iter_mut().zip(schemas) {
        let schema = match is_short {
            true => schema.as_ref().map(undescribed),
            false => schema,
        };
        if let Some(schema) = schema
            && let Some(left) = room.checked_sub(size(&schema))
        {
            value["input_schema"] = schema;
            room = left;
        }
    }
    let left_out = agent.card.skills.len() - skills.len();
    let mut value = json!({
        "id": agent.card.name,
        "description": cut(&agent.card.description, MAX_DESCRIPTION),
        "skills": skills,
    });
    if left_out > 0 {
        value["skills_left_out"] = left_out.into();
    }
    if let Some(topics) = agent.topics.as_ref().filter(|t| !t.is_empty()) {
        value["task_types"] = cut_all(topics).into();
    }
    value
}

fn size(schema: &Value) -> usize {
    schema.to_string().len()
}

/// A schema without the descriptions of its parts.
fn undescribed(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            // A property may have this name as well.
            let is_told =
                |(name, value): &(&String, &Value)| *name != "description" || !value.is_string();
            let fields = fields.iter().filter(is_told);
            fields
                .map(|(name, value)| (name.clone(), undescribed(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(undescribed).collect(),
        other => other.clone(),
    }
}

fn skill_json(skill: &AgentSkill) -> Value {
    json!({
        "id": cut(&skill.id, MAX_TEXT),
        "name": cut(&skill.name, MAX_TEXT),
        "description": cut(&skill.description, MAX_DESCRIPTION),
        "tags": cut_all(&skill.tags),
        "examples": cut_all(&skill.examples),
        "input_modes": cut_all(&skill.input_modes),
        "output_modes": cut_all(&skill.output_modes),
    })
}

fn cut_all(texts: &[String]) -> Vec<String> {
    texts
        .iter()
        .take(MAX_ITEMS)
        .map(|t| cut(t, MAX_TEXT))
        .collect()
}

/// The text, or its first characters and an ellipsis.
fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
