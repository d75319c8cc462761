//! Has the hub know agents, and forget them.

use std::{path::Path, sync::Arc};

use agenthub_sdk::{AgentBuilder, Error, RunningAgent, proto::agenthub::AgentState};

use super::{identity, keeper::Keeper};
use crate::{Definition, Fault};

impl Keeper {
    /// Starts an agent. Says whether the hub knew its id.
    pub(super) async fn start(
        &self,
        definition: &Arc<Definition>,
    ) -> Result<(RunningAgent, bool), Vec<Fault>> {
        let cannot = |error: Error| vec![cannot_start(definition, &error)];
        let was_known = match self.client.agent(&*definition.name).await {
            Ok(entry) => {
                let is_online = entry.state() == AgentState::Online;
                if let Some(card) = entry.agent_card.filter(|_| is_online)
                    && !identity::is_same(&card, definition)
                {
                    return Err(vec![taken(definition, identity::is_sop(&card), &self.hub)]);
                }
                true
            }
            Err(Error::NotFound(_)) => false,
            Err(error) => return Err(cannot(error)),
        };
        let agent = self.fitted(definition).await?;
        let agent = agent.start(&*self.hub).await.map_err(cannot)?;
        Ok((agent, was_known))
    }

    pub(super) async fn replace(&self, definition: &Arc<Definition>) -> Result<(), Vec<Fault>> {
        let cannot = |error: Error| vec![cannot_start(definition, &error)];
        let Some(at_work) = self.at_work.get(&definition.name) else {
            return Ok(());
        };
        let agent = self.fitted(definition).await?.build().map_err(cannot)?;
        at_work.agent.replace(agent).await.map_err(cannot)
    }

    async fn fitted(&self, definition: &Arc<Definition>) -> Result<AgentBuilder, Vec<Fault>> {
        let fitting = (self.origin.fit)(Arc::clone(definition), self.roster.clone());
        Ok(fitting.await?.drain_timeout(self.origin.drain))
    }

    /// Has the hub forget an agent that is nowhere at work. What waits for it fails.
    pub(super) async fn forget(&self, name: &str, why: &str) {
        let is_away = match self.client.agent(name).await {
            Ok(entry) => entry.instances.is_empty(),
            Err(_) => false,
        };
        if is_away && let Err(error) = self.client.unregister(name, why).await {
            tracing::debug!(%error, agent = name, "the hub goes on knowing it");
        }
    }
}

fn cannot_start(definition: &Definition, error: &Error) -> Fault {
    Fault::error(
        &definition.path,
        format!("{} cannot be an agent of the hub: {error}", definition.name),
    )
}

fn taken(definition: &Definition, is_sop: bool, hub: &str) -> Fault {
    let name = &definition.name;
    let whose = match is_sop {
        true => "the SOP of another folder",
        false => "another program",
    };
    Fault::error(
        &definition.path,
        format!("the hub at {hub} has an agent called {name} already, and it is {whose}"),
    )
    .helped(format!(
        "give this one another `name:` in {}, or stop the other one",
        short(&definition.path)
    ))
}

fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
