//! Agents that are probed at their `health_check_url`: all of them every so often, page by page, and in between those that were never
//! probed. One that has an instance is present without.

use std::{
    collections::BTreeSet,
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use super::{
    core::{Core, Now},
    directory::PresenceBefore,
};
use crate::{id::AgentId, steps::step};

/// Agents that are looked at under one hold of the lock.
const PAGE: usize = 256;

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    agents: BTreeSet<AgentId>,
    unprobed: BTreeSet<AgentId>,
}

/// An agent and the address at which it is probed.
pub(super) type Target = (AgentId, Arc<str>);

/// Some of the agents that are probed in a round.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) targets: Vec<Target>,
    /// The agent after which the round goes on; `None` at its end.
    pub(super) next: Option<AgentId>,
}

impl Probes {
    /// Probes an agent from here on.
    pub(crate) fn add(&mut self, agent: &AgentId) {
        self.agents.insert(agent.clone());
        self.unprobed.insert(agent.clone());
    }

    /// Probes an agent no more.
    pub(crate) fn remove(&mut self, agent: &AgentId) {
        self.agents.remove(agent);
        self.unprobed.remove(agent);
    }

    /// The last instance of an agent has gone: if it is probed, that is due.
    pub(crate) fn left_alone(&mut self, agent: &AgentId) {
        if self.agents.contains(agent) {
            self.unprobed.insert(agent.clone());
        }
    }
}

impl Core {
    /// The agents of a round that are probed next.
    pub(super) fn to_probe(&self, after: Option<&AgentId>) -> Page {
        let from = after.map_or(Unbounded, Excluded);
        let all = self.probes.agents.range::<AgentId, _>((from, Unbounded));
        let page: Vec<&AgentId> = all.take(PAGE).inspect(|_| step()).collect();
        let next = page.last().filter(|_| page.len() == PAGE);
        Page {
            next: next.map(|agent| (*agent).clone()),
            targets: page.into_iter().filter_map(|a| self.target(a)).collect(),
        }
    }

    /// Some of the agents that were never probed.
    pub(super) fn take_unprobed(&mut self) -> Page {
        let mut targets = Vec::new();
        for _ in 0..PAGE {
            let Some(agent) = self.probes.unprobed.pop_first() else {
                break;
            };
            step();
            targets.extend(self.target(&agent));
        }
        Page {
            targets,
            next: None,
        }
    }

    fn target(&self, agent: &AgentId) -> Option<Target> {
        let known = self.state.registry.get(agent);
        let known = known.filter(|_| !self.presence.has_instance(agent))?;
        Some((agent.clone(), known.health_check_url.as_str().into()))
    }

    /// A probe has ended.
    pub(super) fn probed(&mut self, agent: &AgentId, is_healthy: bool, now: Now) {
        if !self.probes.agents.contains(agent) {
            return;
        }
        self.probes.unprobed.remove(agent);
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence.probed(agent, is_healthy);
        before.tell_changes(self, now);
    }
}
