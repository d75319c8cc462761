//! Probes of agents at their `health_check_url`: all of them at intervals, page by page, and in between those that were
//! never probed. Agents with an instance are present without a probe.

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

/// Agents checked per acquisition of the lock.
const PAGE: usize = 256;

/// The probed agents, see the module.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    agents: BTreeSet<AgentId>,
    unprobed: BTreeSet<AgentId>,
}

/// An agent with the address of its probe.
pub(super) type Target = (AgentId, Arc<str>);

/// A page of agents to probe in a round.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) targets: Vec<Target>,
    /// The agent after which the round continues; `None` at its end.
    pub(super) next: Option<AgentId>,
}

impl Probes {
    /// Adds an agent.
    pub(crate) fn add(&mut self, agent: &AgentId) {
        self.agents.insert(agent.clone());
        self.unprobed.insert(agent.clone());
    }

    /// Removes an agent.
    pub(crate) fn remove(&mut self, agent: &AgentId) {
        self.agents.remove(agent);
        self.unprobed.remove(agent);
    }

    /// Schedules a probe of an agent whose last instance has left.
    pub(crate) fn left_alone(&mut self, agent: &AgentId) {
        if self.agents.contains(agent) {
            self.unprobed.insert(agent.clone());
        }
    }
}

impl Core {
    /// The next agents of a round.
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

    /// Handles the result of a probe.
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
