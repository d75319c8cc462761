//! Index of agents by capability.

use std::collections::{BTreeSet, HashMap};

use agenthub_proto::a2a::AgentSkill;

use super::Agent;
use crate::{id::AgentId, routing::Wants};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Index {
    /// Subscribed topics and skill ids. One set, because nearly every agent has topics of its own.
    by_topic: BTreeSet<(String, AgentId)>,
    by_tag: Having,
    by_input_mode: Having,
    by_output_mode: Having,
}

/// Agents by a value of their skills. Many agents share most values.
type Having = HashMap<String, BTreeSet<AgentId>>;

impl Index {
    pub(super) fn add(&mut self, id: &AgentId, agent: &Agent) {
        for topic in topics(agent) {
            self.by_topic.insert((topic.to_owned(), id.clone()));
        }
        self.each(agent, |having, value| {
            having.entry(value.clone()).or_default().insert(id.clone());
        });
    }

    pub(super) fn remove(&mut self, id: &AgentId, agent: &Agent) {
        for topic in topics(agent) {
            self.by_topic.remove(&(topic.to_owned(), id.clone()));
        }
        self.each(agent, |having, value| {
            let agents = having.get_mut(value);
            let is_last = agents.is_some_and(|agents| agents.remove(id) && agents.is_empty());
            if is_last {
                having.remove(value);
            }
        });
    }

    /// Superset of the agents with the wanted capabilities, ordered by id: those with one of the topics, else those
    /// with the rarest of the tags and modes.
    pub(super) fn candidates(&self, wants: &Wants<'_>) -> Vec<&AgentId> {
        if wants.topics.is_empty() {
            let rarest = self.wanted(wants).into_iter();
            let rarest = rarest.min_by_key(|agents| agents.map(BTreeSet::len));
            return rarest.flatten().into_iter().flatten().collect();
        }
        let topics = wants.topics.iter();
        let agents: BTreeSet<&AgentId> = topics
            .flat_map(|topic| self.registered_for(topic))
            .collect();
        agents.into_iter().collect()
    }

    /// Agents with each wanted tag and mode; `None` for a value that no agent has.
    fn wanted(&self, wants: &Wants<'_>) -> Vec<Option<&BTreeSet<AgentId>>> {
        let mut all = Vec::new();
        for (having, values) in [
            (&self.by_tag, wants.tags),
            (&self.by_input_mode, wants.input_modes),
            (&self.by_output_mode, wants.output_modes),
        ] {
            all.extend(values.iter().map(|value| having.get(value)));
        }
        all
    }

    fn registered_for(&self, topic: &str) -> impl Iterator<Item = &AgentId> {
        let from = (topic.to_owned(), AgentId::from(""));
        let agents = self.by_topic.range(from..);
        agents
            .take_while(move |(of, _)| of == topic)
            .map(|(_, agent)| agent)
    }

    /// Calls `act` with each tag and mode of an agent, and the table of that value.
    fn each<'a>(&mut self, agent: &'a Agent, mut act: impl FnMut(&mut Having, &'a String)) {
        for AgentSkill {
            tags,
            input_modes,
            output_modes,
            ..
        } in &agent.latest().skills
        {
            for (having, values) in [
                (&mut self.by_tag, tags),
                (&mut self.by_input_mode, input_modes),
                (&mut self.by_output_mode, output_modes),
            ] {
                values.iter().for_each(|value| act(having, value));
            }
        }
    }
}

fn topics(agent: &Agent) -> impl Iterator<Item = &str> {
    let skills = agent.latest().skills.iter().map(|s| s.id.as_str());
    agent.topics.iter().map(String::as_str).chain(skills)
}
