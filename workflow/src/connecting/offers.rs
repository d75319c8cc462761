//! Offers of agents: their skills, and steps that ask for what nobody offers.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_documents::{choice, meant};
use agenthub_sdk::{internal::contracts, proto::a2a::AgentCard, runs::plan::Offer};

use crate::{
    finding::{At, Finding, within},
    model::{Call, Work, Workflow},
};

/// Skills of the agents that are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers {
    /// Each agent's skills.
    skills: BTreeMap<String, Vec<Offer>>,
}

impl Offers {
    /// Offers of these cards.
    pub(crate) fn of<'c>(cards: impl IntoIterator<Item = &'c AgentCard>) -> Self {
        let skills = cards.into_iter().map(|card| {
            let offers = contracts(card).into_iter().map(|(skill, contract)| Offer {
                agent: card.name.clone(),
                capability: skill,
                input: contract.input,
                output: contract.output,
                phase: String::new(),
            });
            (card.name.clone(), offers.collect())
        });
        Self {
            skills: skills.collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Offer> {
        self.skills.values().flatten()
    }

    /// The offers that a question may go to.
    pub(super) fn meant(&self, agent: &str, skill: &str) -> Vec<Offer> {
        let own = self.skills.get(agent);
        match (own, skill) {
            // Which of its skills is meant, the agent decides.
            (Some(own), "") if own.len() == 1 => own.clone(),
            (Some(_), "") => Vec::new(),
            (Some(own), skill) => own
                .iter()
                .filter(|o| o.capability == skill)
                .cloned()
                .collect(),
            (None, skill) if agent.is_empty() => self
                .all()
                .filter(|o| o.capability == skill)
                .cloned()
                .collect(),
            (None, _) => Vec::new(),
        }
    }
}

/// Agents and skills that nobody knows.
pub(crate) fn unknown_agents(workflow: &Workflow, offers: &Offers) -> Vec<Finding> {
    let mut findings = Vec::new();
    for step in workflow.graph.all() {
        let work = match &step.work {
            Work::Call(call) => Some(call),
            _ => None,
        };
        for call in work.into_iter().chain(&step.compensate) {
            findings.extend(unknown_agent(call, offers));
        }
        if let (Some(fallback), Some(call)) = (&step.fallback, work) {
            let at = within(&step.at, "fallback");
            findings.extend(not_offered(fallback, &call.skill, &at, &at, offers));
        }
    }
    findings
}

fn unknown_agent(call: &Call, offers: &Offers) -> Option<Finding> {
    let skill_at = within(&call.at, "skill");
    if !call.agent.is_empty() {
        return not_offered(&call.agent, &call.skill, &call.agent_at, &skill_at, offers);
    }
    if call.skill.is_empty() || offers.all().any(|offer| offer.capability == call.skill) {
        return None;
    }
    let skills: BTreeSet<&str> = offers
        .all()
        .map(|offer| offer.capability.as_str())
        .collect();
    let message = format!("no agent that is known has the skill `{}`", call.skill);
    Some(Finding::at(skill_at, message, known(&call.skill, &skills)))
}

fn not_offered(
    agent: &str,
    skill: &str,
    agent_at: &At,
    skill_at: &At,
    offers: &Offers,
) -> Option<Finding> {
    let Some(own) = offers.skills.get(agent) else {
        let agents: BTreeSet<&str> = offers.skills.keys().map(String::as_str).collect();
        let message = format!("no agent `{agent}` is known");
        return Some(Finding::at(
            agent_at.clone(),
            message,
            known(agent, &agents),
        ));
    };
    if skill.is_empty() || own.iter().any(|offer| offer.capability == skill) {
        return None;
    }
    let skills: BTreeSet<&str> = own.iter().map(|offer| offer.capability.as_str()).collect();
    let message = format!("the agent `{agent}` has no skill `{skill}`");
    Some(Finding::at(
        skill_at.clone(),
        message,
        known(skill, &skills),
    ))
}

fn known(word: &str, known: &BTreeSet<&str>) -> String {
    match meant(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "none is known".to_owned(),
        None => {
            let some: Vec<&str> = known.iter().take(16).copied().collect();
            format!("known: {}", choice(&some))
        }
    }
}
