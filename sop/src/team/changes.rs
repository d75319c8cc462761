//! Changes that make the agents at work those of the files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use crate::{Definition, Discovered, Fault, Kind};

/// Changes of a team.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Changes {
    /// The agents that are not wanted any more.
    pub(super) stop: Vec<String>,
    /// Agents that become something else.
    pub(super) replace: Vec<Arc<Definition>>,
    /// Agents that are missing.
    pub(super) start: Vec<Arc<Definition>>,
    /// Faults of the folder as a whole.
    pub(super) fault: Option<Fault>,
}

/// Compares the agents at work with what the files say. An agent whose file cannot be used stays as it is, and so does the orchestrator while
/// there are several. With `all`, what has not changed is replaced too.
pub(super) fn changes(
    at_work: &BTreeMap<String, Arc<Definition>>,
    found: &Discovered,
    orchestrator: Result<Arc<Definition>, Fault>,
    all: bool,
) -> Changes {
    let broken: BTreeSet<&Path> = found
        .faults
        .iter()
        .filter(|fault| fault.is_error())
        .map(|fault| &*fault.path)
        .collect();
    let is_broken = |definition: &Definition| broken.contains(&*definition.path);
    let mut wanted = found.agents.clone();
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    let mut fault = None;

    let leads = at_work.values().find(|d| d.kind == Kind::Orchestrator);
    match (orchestrator, leads) {
        (_, Some(leads)) if is_broken(leads) => {}
        (Ok(orchestrator), _) => {
            wanted.insert(orchestrator.name.clone(), orchestrator);
        }
        (Err(why), leads) => {
            fault = Some(why);
            if let Some(leads) = leads
                && found.orchestrators.iter().any(|o| o.name == leads.name)
            {
                kept.insert(&leads.name);
            }
        }
    }
    for (name, definition) in at_work {
        if is_broken(definition) && !wanted.contains_key(name) {
            kept.insert(name);
        }
    }

    let mut changes = Changes {
        fault,
        ..Changes::default()
    };
    changes.stop = at_work
        .keys()
        .filter(|name| !wanted.contains_key(*name) && !kept.contains(name.as_str()))
        .cloned()
        .collect();
    for (name, definition) in wanted {
        match at_work.get(&name) {
            _ if kept.contains(&*name) => {}
            None => changes.start.push(definition),
            Some(known) if all || *known != definition => changes.replace.push(definition),
            Some(_) => {}
        }
    }
    changes
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
