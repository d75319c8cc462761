//! The agents that may be chosen, as a request holds them.

use serde::Deserialize;
use serde_json::Value;

use crate::relevance::{Card, Skill};

/// An agent.
#[derive(Debug, Deserialize)]
pub(super) struct Agent {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) skills: Vec<AgentSkill>,
    /// The task types that it registered for, where they are known.
    #[serde(default)]
    pub(super) task_types: Vec<String>,
}

/// A skill of an agent.
#[derive(Debug, Deserialize)]
pub(super) struct AgentSkill {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) examples: Vec<String>,
    /// The data that it takes, where its card says it.
    #[serde(default)]
    pub(super) input_schema: Option<Value>,
}

impl Agent {
    pub(super) fn card(&self) -> Card<'_> {
        let skills = self.skills.iter().map(|skill| Skill {
            id: &skill.id,
            name: &skill.name,
            description: &skill.description,
            tags: skill.tags.iter().map(String::as_str).collect(),
            examples: skill.examples.iter().map(String::as_str).collect(),
        });
        Card {
            id: &self.id,
            name: &self.name,
            description: &self.description,
            skills: skills.collect(),
        }
    }

    /// It in a line.
    pub(super) fn told(&self) -> String {
        let what = [&self.description, &self.name]
            .into_iter()
            .find(|text| !text.is_empty());
        let what = what.map(|text| format!(": {text}")).unwrap_or_default();
        let example = self.skills.iter().flat_map(|skill| &skill.examples).next();
        let example = example
            .map(|example| format!(" (try \"{example}\")"))
            .unwrap_or_default();
        format!("{}{what}{example}", self.id)
    }
}
