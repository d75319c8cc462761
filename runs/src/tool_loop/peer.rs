//! Agents that are offered as tools, and what a call of one hands over.

use serde::{Deserialize, Serialize};

use crate::{effect::Handoff, model::ToolCall};

/// An agent that is offered as a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its id.
    pub id: String,
    /// What it can be asked for; the first is meant where the call names none.
    pub skills: Vec<String>,
    /// Which arguments a call has.
    #[serde(default, skip_serializing_if = "Calling::is_request")]
    pub calling: Calling,
}

/// Which arguments a call of an agent has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calling {
    /// `{ request, skill?, input? }`.
    #[default]
    Request,
    /// `{ task, ... }`: what is to be done, and beside it the fields of what the agent's only skill takes.
    Task,
}

impl Calling {
    fn is_request(&self) -> bool {
        *self == Self::Request
    }
}

impl Peer {
    /// The work that a call with these arguments hands over.
    pub(super) fn handoff(&self, call: &ToolCall) -> Result<Handoff, String> {
        let arguments = &call.arguments;
        let text = arguments["request"].as_str().unwrap_or_default().to_owned();
        let payload = Some(&arguments["input"]).filter(|v| !v.is_null()).cloned();
        if text.trim().is_empty() && payload.is_none() {
            return Err("`request` is missing: say in words what the agent shall do".to_owned());
        }
        let capability = match arguments["skill"].as_str().filter(|s| !s.is_empty()) {
            None => self.skills.first().cloned().unwrap_or_default(),
            Some(skill) if self.skills.iter().any(|s| s == skill) => skill.to_owned(),
            Some(skill) => {
                let skills = self.skills.join(", ");
                return Err(format!(
                    "{} has no skill {skill}; it has: {skills}",
                    self.id
                ));
            }
        };
        Ok(Handoff {
            agent: self.id.clone(),
            capability,
            text,
            payload,
            tool: call.name.clone(),
            ..Handoff::default()
        })
    }
}
