//! What is the model told?

use std::{collections::HashSet, sync::Arc};

use agenthub_proto::a2a::{AgentCard, AgentSkill};
use agenthub_sdk::{
    model::{Message, Part, Request, Role},
    relevance,
};
use serde_json::{Value, json};

use crate::{
    decision::{self, Candidate, Skill},
    outcome::TaskOutcome,
};

const SYSTEM: &str = include_str!("../prompts/system.md");
const LAST_ROUND: &str = include_str!("../prompts/last_round.md");

/// The most agents that one prompt shows.
pub(crate) const MAX_AGENTS: usize = 64;

/// The most bytes of JSON that one card takes of the prompt; skills at its end are left out and counted.
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

/// A task that another turn of the conversation waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    /// Who works on it.
    pub(crate) agent: String,
    /// What for.
    pub(crate) task_type: String,
}

/// An answer of the model that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejected {
    /// What it said, shortened.
    pub(crate) answer: String,
    /// Why that was no decision.
    pub(crate) reason: String,
}

/// Everything that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prompt<'a> {
    /// The agents that are here, Cortex not among them.
    pub(crate) agents: &'a [Present],
    /// What was said before, oldest first.
    pub(crate) history: &'a [Message],
    /// What the user says.
    pub(crate) words: &'a str,
    /// The structured parts of what the user says.
    pub(crate) attached: &'a [Value],
    /// What the user has been answered in this turn.
    pub(crate) answers: &'a [String],
    /// What came back in this turn.
    pub(crate) results: &'a [TaskOutcome],
    /// What other turns wait for.
    pub(crate) running: &'a [Running],
    /// The answer before this one, if it was no decision.
    pub(crate) rejected: Option<&'a Rejected>,
    /// Whether no task can be handed over any more.
    pub(crate) is_last_round: bool,
}

impl Prompt<'_> {
    /// The request that asks for a decision.
    pub(crate) fn request(&self) -> Request {
        let shown = self.shown();
        let mut messages = vec![Message::system(self.rules(self.agents.len() - shown.len()))];
        messages.push(Message::data(
            "agents",
            shown.into_iter().map(agent_json).collect(),
        ));
        messages.extend_from_slice(self.history);
        if !self.running.is_empty() {
            let running = self.running.iter();
            let running = running.map(|r| json!({"agent": r.agent, "task_type": r.task_type}));
            messages.push(Message::data("running", running.collect()));
        }
        messages.push(self.said());
        messages.extend(self.answers.iter().map(Message::assistant));
        if !self.results.is_empty() {
            let results = self.results.iter().map(|r| r.to_json(self.results.len()));
            messages.push(Message::data("results", results.collect()));
        }
        if let Some(rejected) = self.rejected {
            let value = json!({"answer": rejected.answer, "reason": rejected.reason});
            messages.push(Message::data("rejected", value));
        }
        Request::new(messages).json("decision", decision::SCHEMA.clone())
    }

    fn rules(&self, left_out: usize) -> String {
        let mut rules = SYSTEM.trim_end().to_owned();
        if left_out > 0 {
            rules.push_str(&format!(
                "\n\n# Agents left out\n\n{left_out} more agents are here whose cards do not fit; the `agents` block shows \
                 those that match the user's words best."
            ));
        }
        if self.is_last_round {
            rules.push_str("\n\n");
            rules.push_str(LAST_ROUND.trim_end());
        }
        rules
    }

    /// The user's words, and what is attached to them.
    fn said(&self) -> Message {
        let mut parts = vec![Part::Text(self.words.to_owned())];
        parts.extend(self.attached.iter().map(|value| Part::Data {
            label: "attached".to_owned(),
            value: value.clone(),
        }));
        Message::new(Role::User, parts)
    }

    /// The agents that the prompt shows, in the order in which they came.
    fn shown(&self) -> Vec<&Present> {
        if self.agents.len() <= MAX_AGENTS {
            return self.agents.iter().collect();
        }
        let cards: Vec<relevance::Card<'_>> =
            self.agents.iter().map(|a| (&*a.card).into()).collect();
        let ranked = relevance::rank(self.words, &cards);
        let by_order = 0..self.agents.len();
        let mut chosen = HashSet::new();
        for index in ranked.into_iter().map(|(index, _)| index).chain(by_order) {
            if chosen.len() == MAX_AGENTS {
                break;
            }
            chosen.insert(index);
        }
        let agents = self.agents.iter().enumerate();
        agents
            .filter(|(index, _)| chosen.contains(index))
            .map(|(_, agent)| agent)
            .collect()
    }
}

/// The agents that a decision may choose.
pub(crate) fn candidates(agents: &[Present]) -> Vec<Candidate> {
    agents
        .iter()
        .map(|agent| Candidate {
            id: agent.card.name.clone(),
            skills: agent
                .card
                .skills
                .iter()
                .map(|s| Skill {
                    id: s.id.clone(),
                    name: s.name.clone(),
                })
                .collect(),
            topics: agent.topics.clone(),
        })
        .collect()
}

fn agent_json(agent: &Present) -> Value {
    let mut room = MAX_CARD;
    let skills = agent.card.skills.iter().take(MAX_SKILLS).map(skill_json);
    let skills: Vec<Value> = skills
        .take_while(|skill| {
            let size = skill.to_string().len();
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .collect();
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

#[cfg(test)]
mod tests;
