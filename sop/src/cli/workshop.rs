//! Makes agents of definitions: with a model, tools, and a place where their runs are kept.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use agenthub_mcp::toolshed::Toolshed;
use agenthub_sdk::{AgentBuilder, Tool, runs::Journal};

use super::{
    names::unknown,
    program::{Program, Workplace},
};
use crate::{self as sop, Definition, Fault, Fit, Kind, Named, Roster};

/// Makes agents of definitions. Cheap to clone. [`close`](Self::close) it.
#[derive(Clone)]
pub(super) struct Workshop(Arc<Inner>);

struct Inner {
    program: Arc<dyn Program>,
    workplace: Box<dyn Workplace>,
    tools: Toolshed,
}

/// Tools that an agent may use and agents that it may ask, by the names in its file.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub(super) tools: Vec<Tool>,
    pub(super) agents: Vec<String>,
}

impl Workshop {
    /// Agents that are made by this program with these tools, and keep files in the folder `data`.
    pub(super) fn new(
        program: &Arc<dyn Program>,
        tools: &Toolshed,
        data: Option<&Path>,
    ) -> anyhow::Result<Self> {
        Ok(Self(Arc::new(Inner {
            program: Arc::clone(program),
            workplace: program.workplace(data)?,
            tools: tools.clone(),
        })))
    }

    /// Maker of agents for a team.
    pub(super) fn fit(&self) -> Fit {
        let workshop = self.clone();
        Arc::new(move |definition, roster| {
            let workshop = workshop.clone();
            Box::pin(async move { workshop.fitted(&definition, &roster).await })
        })
    }

    /// The journal of the agent called `name`; `None` if no files are kept.
    ///
    /// # Errors
    ///
    /// Its files cannot be used.
    pub(super) async fn journal(&self, name: &str) -> anyhow::Result<Option<Arc<dyn Journal>>> {
        self.0.workplace.journal(name).await
    }

    /// Takes the files of the agent called `name`, as long as this lives. False if another process has them.
    ///
    /// # Errors
    ///
    /// They cannot be used.
    pub(super) async fn claim(&self, name: &str) -> anyhow::Result<bool> {
        self.0.workplace.claim(name).await
    }

    /// Ends the connections to MCP servers, and sends the spans that wait.
    pub(super) async fn close(&self) {
        tokio::join!(self.0.tools.clone().close(), self.0.workplace.close());
    }

    async fn fitted(
        &self,
        definition: &Arc<Definition>,
        roster: &Roster,
    ) -> Result<AgentBuilder, Vec<Fault>> {
        let inner = &*self.0;
        let wrong = |error: anyhow::Error| {
            let message = format!("{} cannot work: {error:#}", definition.name);
            vec![Fault::error(&definition.path, message)]
        };
        let uses = uses(definition, &roster.written(), &inner.tools, true).await?;
        let model = inner.program.model(definition.model.as_deref());
        let model = model.await.map_err(wrong)?;
        let named = named(definition, roster, &uses, &inner.tools);
        let peers = sop::peers(definition, roster, uses.agents);
        let mut limits = sop::limits(definition);
        if let Some(longest) = inner.tools.longest().filter(|_| !uses.tools.is_empty()) {
            let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
            limits.tool_timeout_ms = limits.tool_timeout_ms.max(longest);
        }
        let agent = sop::agent(definition, model, uses.tools, peers, &named).limits(limits);
        let lasting = inner.workplace.lasting(&definition.name, agent);
        lasting.await.map_err(wrong)
    }
}

/// The agents that the rules of a file may name: an orchestrator's whole team, and those among its tools.
fn named(definition: &Definition, roster: &Roster, uses: &Uses, shed: &Toolshed) -> Named {
    let mut agents: BTreeSet<String> = uses.agents.iter().cloned().collect();
    if definition.kind == Kind::Orchestrator {
        agents.extend(roster.written());
    }
    agents.remove(&definition.name);
    let names = definition.tools.iter().map(|tool| tool.name.as_str());
    let aliases = names.filter_map(|name| Some((name.to_owned(), shed.agent(name)?.to_owned())));
    Named {
        agents,
        aliases: aliases.collect(),
    }
}

/// Resolves the names in a file. `agents` are those of its folder. MCP servers are asked for their tools if `connect` says so.
///
/// # Errors
///
/// All names that stand for nothing, each at its place.
pub(super) async fn uses(
    definition: &Definition,
    agents: &BTreeSet<String>,
    shed: &Toolshed,
    connect: bool,
) -> Result<Uses, Vec<Fault>> {
    let mut uses = Uses::default();
    let mut faults = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for tool in &definition.tools {
        let name = tool.name.as_str();
        if name == definition.name {
            let fault = definition.fault_at(tool.place, "an agent cannot ask itself");
            faults.push(fault.helped("take the name out of `tools`"));
        } else if shed.knows(name) {
            names.push(name);
        } else if agents.contains(name) {
            uses.agents.push(name.to_owned());
        } else {
            faults.push(unknown(tool, &definition.path, agents, shed));
        }
    }
    if connect && !names.is_empty() {
        match shed.resolve(&names).await {
            Ok(resolved) => {
                uses.tools = resolved.tools;
                uses.agents.extend(resolved.agents);
            }
            Err(unknown) => faults.extend(unknown.into_iter().map(|unknown| {
                let place = definition.tools.iter().find(|t| t.name == unknown.name);
                let fault = match place {
                    Some(tool) => definition.fault_at(tool.place, unknown.why),
                    None => Fault::error(&definition.path, unknown.why),
                };
                match unknown.help {
                    Some(help) => fault.helped(help),
                    None => fault,
                }
            })),
        }
    }
    match faults.is_empty() {
        true => Ok(uses),
        false => Err(faults),
    }
}
