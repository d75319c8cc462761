//! Which tasks does a listing look at for a caller that may see its own alone?

use std::collections::BTreeSet;

use super::core::Core;
use crate::{Caller, id::AgentId, steps::step, tasks::Own};

/// The most agents whose tasks are looked up apart.
const AGENTS: usize = 64;

/// The most agents of the directory that are looked at.
const LOOKS: usize = 1_024;

impl Core {
    /// The tasks on the caller's behalf, and those of agents that it may be: those that its rights name, and those of the directory that fit
    /// its rights. `None` if these are many, so that a listing goes through the tasks of all.
    pub(super) fn own(&self, caller: &Caller) -> Option<Own> {
        let mut agents = BTreeSet::new();
        let mut looks = 0;
        for pattern in caller.ids() {
            match pattern.split_once('*') {
                None => drop(agents.insert(AgentId::from(pattern))),
                Some((head, _)) => {
                    for agent in self.state.registry.beginning_with(head) {
                        looks += 1;
                        if looks > LOOKS {
                            return None;
                        }
                        step();
                        agents.insert(agent.clone());
                    }
                }
            }
        }
        agents.retain(|agent| self.may_be(caller, agent).is_ok());
        (agents.len() <= AGENTS).then(|| Own {
            principal: caller.principal.clone(),
            agents,
        })
    }
}
