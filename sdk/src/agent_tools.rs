//! Agents as tools, for those who offer them to somebody else's model: under the names and with the descriptions that supervisors see.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::{Client, Delegation, schema, supervisor};

/// Agents that the hub is asked about at once, and the number of further ones that stay without an answer.
const ASKED: usize = 10_000;

/// An agent as a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentTool {
    /// The agent's id.
    pub agent: String,
    /// True if the agent can be reached.
    pub online: bool,
    /// True unless the hub says that this client may not send to the agent. The hub decides again when it is asked.
    pub allowed: bool,
    /// `agent_` and the slug of the id, at most 64 characters of `[a-z0-9_-]`. It stays the same while the agent is known.
    pub name: String,
    /// The agent's description of itself and of its skills.
    pub description: String,
    /// The JSON Schema of the arguments `{ request, skill?, input? }`; with what skills take as data, where they say so within bounds.
    pub parameters: Value,
    /// The ids of its skills; the first is meant where a call names none.
    pub skills: Vec<String>,
}

impl AgentTool {
    /// The request that a call with these arguments makes of the agent. Without a skill its first one is meant.
    ///
    /// # Errors
    ///
    /// Every place where the arguments do not fit the schema, in words for who made them; the values are not repeated.
    pub fn delegation(&self, arguments: Map<String, Value>) -> Result<Delegation, String> {
        let arguments = Value::Object(arguments);
        let validator = schema::compile(&self.parameters)
            .map_err(|error| format!("{} cannot be asked like this: {error}", self.agent))?;
        if let Some(violations) = schema::violations(&validator, &arguments) {
            return Err(format!(
                "the arguments do not fit the schema of {}: {violations}",
                self.name
            ));
        }
        let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
        let (request, input) = (text("request"), &arguments["input"]);
        if request.trim().is_empty() && input.is_null() {
            return Err(
                "`request` is empty: say in words what the agent shall do, without relying on what was said before"
                    .to_owned(),
            );
        }
        let skill = Some(text("skill")).filter(|skill| !skill.is_empty());
        let skill = skill.or_else(|| self.skills.first().cloned());
        let delegation = Delegation::to(&self.agent)
            .text(request)
            .capability(skill.unwrap_or_default());
        Ok(match input {
            Value::Null => delegation,
            input => delegation.payload(input.clone()),
        })
    }
}

impl Client {
    /// Every agent that the hub knows as a tool, by id, Cortex included. Best with [`watch_agents`](crate::hub::ClientBuilder::watch_agents):
    /// then it is told from the [`Directory`](crate::Directory), and the hub is only asked (for 2 s at most) while that is being filled.
    pub async fn agent_tools(&self) -> Vec<AgentTool> {
        let known = supervisor::known(self).await;
        let ids = known.iter().map(|entry| entry.card.name.clone());
        let denied = self.may_not_send_to(ids.take(ASKED).collect()).await;
        let denied = denied.unwrap_or_else(|error| {
            tracing::debug!(%error, "the hub did not say to whom this client may send");
            HashSet::new()
        });
        let every = supervisor::every(&known).into_iter();
        let tools = every.filter_map(|(entry, offered)| {
            Some(AgentTool {
                agent: entry.card.name.clone(),
                online: entry.online,
                allowed: !denied.contains(&entry.card.name),
                name: offered.tool.name,
                description: offered.tool.description,
                parameters: offered.tool.parameters,
                skills: offered.agent?.skills,
            })
        });
        tools.collect()
    }
}
