//! Tasks that a request states outright: for whom, for which skill, and with which data; and what to say where it does not.

use serde_json::{Map, Value, json};

use super::agents_here::{Agent, AgentSkill};
use super::attached::Attached;
use super::outright::{Outright, UNCHECKED};
use crate::Request;
use crate::relevance::Card;

/// Task type of an agent of which neither skills nor task types are known.
pub(super) const ANY_TASK: &str = "task";

/// Beginning of what is said of words that nobody looked at.
const MATCHED: &str = "Matched by words: no language model checked that this is what was asked.";

/// Task of an agent that a request states outright.
pub(super) struct Handed<'a> {
    pub(super) agent: &'a str,
    pub(super) task_type: &'a str,
    /// The part of the words that is meant for it, where that is not all of them.
    pub(super) words: Option<&'a str>,
    pub(super) payload: Map<String, Value>,
}

impl Handed<'_> {
    pub(super) fn task(&self, correlation_id: &str) -> Value {
        let mut task = json!({
            "type": "task.request",
            "taskType": self.task_type,
            "targetAgent": self.agent,
            "payload": self.payload,
            "correlationId": correlation_id,
        });
        if let Some(words) = self.words {
            task["words"] = words.into();
        }
        task
    }
}

/// The task that the words state outright, if they do; an agent whose card says of no data that it is taken gets a text alone.
pub(super) fn handed_outright<'a>(
    request: &Request,
    words: &'a str,
    agents: &'a [Agent],
    cards: &[Card<'a>],
) -> Option<Handed<'a>> {
    let own = request.asker_id();
    let (outright, agent, skill) = match Outright::of(words, cards, own) {
        Some(outright) => {
            let agent = &agents[outright.card];
            let skill = outright.skill.map(|skill| &agent.skills[skill]);
            (outright, agent, skill)
        }
        None => {
            let (outright, agent) = addressed(words, agents, cards, own)?;
            let skill = the_one_that_takes(&outright, agent)?;
            (outright, agent, Some(skill))
        }
    };
    let task_type = match (skill, &agent.task_types[..]) {
        (Some(skill), _) => &skill.id,
        (None, [one]) => one,
        (None, []) => ANY_TASK,
        // Which of them is meant is a guess.
        (None, _) => return None,
    };
    let payload = payload(&outright, skill)?;
    let has_inputs = skill.is_some_and(|skill| skill.input_schema.is_some());
    Attached::of(request).is_empty().then_some(Handed {
        agent: &agent.id,
        task_type,
        words: outright.text().filter(|_| !has_inputs),
        payload,
    })
}

/// The agent of several skills whose name alone stands before what is stated.
fn addressed<'w, 'a>(
    words: &'w str,
    agents: &'a [Agent],
    cards: &[Card<'_>],
    own: &str,
) -> Option<(Outright<'w>, &'a Agent)> {
    let bare: Vec<Card<'_>> = cards
        .iter()
        .map(|card| Card {
            id: card.id,
            name: card.name,
            ..Card::default()
        })
        .collect();
    let outright = Outright::of(words, &bare, own)?;
    let agent = &agents[outright.card];
    (agent.skills.len() > 1).then_some((outright, agent))
}

/// The skill that takes what is stated, if it is the only one of the agent.
fn the_one_that_takes<'a>(outright: &Outright<'_>, agent: &'a Agent) -> Option<&'a AgentSkill> {
    let takes = |skill: &&AgentSkill| {
        let schema = skill.input_schema.as_ref();
        schema.is_some_and(|schema| outright.input(schema).is_some())
    };
    let mut taking = agent.skills.iter().filter(takes);
    taking.next().filter(|_| taking.next().is_none())
}

/// The stated as the skill takes it: as its input, or as the text in the quotation marks.
fn payload(outright: &Outright<'_>, skill: Option<&AgentSkill>) -> Option<Map<String, Value>> {
    match skill.and_then(|skill| skill.input_schema.as_ref()) {
        Some(schema) => outright.input(schema),
        None => outright.text().map(text),
    }
}

/// Words as they are handed to an agent.
pub(super) fn text(words: &str) -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), words.into())])
}

/// The sentence on words that nobody looked at: how to state them outright, or why what they state is no input of whoever they name.
pub(super) fn advice(
    request: &Request,
    words: &str,
    agents: &[Agent],
    cards: &[Card<'_>],
) -> String {
    let own = request.asker_id();
    let outright = Outright::of(words, cards, own);
    if outright.is_none()
        && let Some((_, agent)) = addressed(words, agents, cards, own)
    {
        let skills: Vec<&str> = agent.skills.iter().map(|skill| &*skill.id).collect();
        return format!(
            "({MATCHED} {} has several skills: put the one that is meant in the place of its name, {}.)",
            agent.id,
            skills.join(" or ")
        );
    }
    let is_misfit = outright.and_then(|outright| {
        let agent = &agents[outright.card];
        let skill = outright.skill.map(|skill| &agent.skills[skill]);
        let name = skill.map_or(&agent.id, |skill| &skill.id);
        let schema = skill.and_then(|skill| skill.input_schema.as_ref());
        let is_taken = payload(&outright, skill).is_some();
        let why = || outright.misfit(name, schema);
        (!is_taken).then(|| format!("({MATCHED} {})", why()))
    });
    is_misfit.unwrap_or_else(|| UNCHECKED.to_owned())
}
