//! The tools and agents that an agent file takes from the settings: `tools = ["files", "web.search"]`.

use std::time::Duration;

use agenthub_mcp::toolshed::{Resolved, Toolshed, Unknown};
use agenthub_sdk::{AgentBuilder, AgentType, supervisor::Peers};
use toml::Spanned;

use crate::{file::Source, values::NamedTool};

/// Names in a file, and what they stand for once they are [resolved](Self::resolve).
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    names: Vec<Place>,
    resolved: Resolved,
    /// Deadline of a call of one of the tools.
    longest: Option<Duration>,
}

/// A name, and where it stands.
#[derive(Clone, Debug)]
struct Place {
    name: String,
    /// `file:line:column`
    place: String,
}

impl Named {
    pub(crate) fn read(source: &Source, names: Vec<Spanned<NamedTool>>) -> Self {
        let place = |name: Spanned<NamedTool>| {
            let place = source.place(name.span().start);
            let NamedTool::Name(name) = name.into_inner();
            Place { name, place }
        };
        Self {
            names: names.into_iter().map(place).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|place| place.name.as_str())
    }

    /// Deadline of a call of the slowest of the tools.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.longest
    }

    /// The faults, as far as they can be told without asking a server; one line each.
    pub(crate) fn unknown(&self, kind: AgentType, toolshed: &Toolshed) -> Vec<String> {
        let wrong = |place: &Place| match toolshed.agent(&place.name) {
            Some(agent) if kind == AgentType::Worker => Some(format!(
                "{}: `{}` is the agent {agent}, and a worker asks no other agents: write type = \"supervisor\"",
                place.place, place.name
            )),
            Some(_) => None,
            None => toolshed
                .check(&place.name)
                .map(|unknown| self.told(unknown)),
        };
        self.names.iter().filter_map(wrong).collect()
    }

    /// Finds what the names stand for; connects to the servers among it.
    ///
    /// # Errors
    ///
    /// All that is wrong, one line each.
    pub(crate) async fn resolve(
        &mut self,
        kind: AgentType,
        toolshed: &Toolshed,
    ) -> Result<(), Vec<String>> {
        let wrong = self.unknown(kind, toolshed);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let names: Vec<&str> = self.names().collect();
        let resolved = toolshed.resolve(&names).await;
        self.resolved = resolved.map_err(|wrong| {
            wrong
                .into_iter()
                .map(|unknown| self.told(unknown))
                .collect::<Vec<_>>()
        })?;
        self.longest = toolshed
            .longest()
            .filter(|_| !self.resolved.tools.is_empty());
        Ok(())
    }

    /// The agent with the tools; where agents are named, it asks no others.
    pub(crate) fn given_to(&self, agent: AgentBuilder) -> AgentBuilder {
        let agent = agent.tools(self.resolved.tools.iter().cloned());
        if self.resolved.agents.is_empty() {
            return agent;
        }
        let agents = self.resolved.agents.clone();
        agent.peers(Peers::chosen(move |card| agents.contains(&card.name)))
    }

    fn told(&self, unknown: Unknown) -> String {
        let Unknown { name, why, help } = unknown;
        let place = self.names.iter().find(|place| place.name == name);
        let place = place.map(|place| place.place.as_str()).unwrap_or_default();
        match help {
            Some(help) => format!("{place}: {why}; {help}"),
            None => format!("{place}: {why}"),
        }
    }
}
