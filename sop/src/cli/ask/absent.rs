//! Agents of a folder that cannot take part in a request, and why.

use std::sync::{Arc, Mutex, PoisonError};

use agenthub_sdk::proto::a2a::AgentCard;
use agenthub_terminal::faults;

use crate::{Discovered, Fault, Member, News, team::identity};

/// Faults that were shown. Clones share them.
#[derive(Clone, Default)]
pub(super) struct ShownFaults(Arc<Mutex<Vec<Fault>>>);

impl ShownFaults {
    /// Shows what is wrong, and keeps it.
    pub(super) fn show(&self, faults: Vec<Fault>) {
        faults.iter().for_each(faults::show);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(faults);
    }

    /// Shows what is wrong in a team, and keeps it.
    pub(super) fn tell(&self) -> Arc<dyn Fn(&News) + Send + Sync> {
        let told = self.clone();
        Arc::new(move |news| {
            if let News::Wrong { fault, .. } = news {
                told.show(vec![fault.clone()]);
            }
        })
    }

    /// All of it.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        faults.clone()
    }
}

/// Agents of a folder that are not at work.
#[derive(Debug, Default)]
pub(super) struct Absent {
    /// Agents that could not start, and why.
    pub(super) agents: Vec<(String, String)>,
    /// Faults of files for which they are nobody.
    pub(super) unusable: Vec<Fault>,
}

/// The agents of a folder that are not at work, where the team has started with these members and complaints.
pub(super) fn absent(discovered: &Discovered, members: &[Member], told: &[Fault]) -> Absent {
    let is_at_work = |name: &str| members.iter().any(|member| member.name == name);
    let away = discovered.agents.values().filter(|d| !is_at_work(&d.name));
    let agents = away.map(|definition| {
        let about = told
            .iter()
            .filter(|fault| fault.is_error() && fault.path == definition.path);
        let why: Vec<&str> = about.map(|fault| fault.message.as_str()).collect();
        let why = match why.is_empty() {
            true => "it is not at work".to_owned(),
            false => why.join("; "),
        };
        (definition.name.clone(), why)
    });
    let errors = discovered.faults.iter().filter(|fault| fault.is_error());
    Absent {
        agents: agents.collect(),
        unusable: errors.cloned().collect(),
    }
}

/// The same of a team that is elsewhere on the hub with these cards: files of which it has no agent, not as they were before either.
pub(super) fn absent_elsewhere(discovered: &Discovered, cards: &[AgentCard]) -> Absent {
    let is_used = |fault: &&Fault| cards.iter().any(|card| identity::is_at(&fault.path, card));
    let errors = discovered.faults.iter().filter(|fault| fault.is_error());
    Absent {
        agents: Vec::new(),
        unusable: errors.filter(|fault| !is_used(fault)).cloned().collect(),
    }
}

impl Absent {
    /// The reason why nothing is to be asked where the first failure ends a request.
    pub(super) fn refusal(&self) -> Option<String> {
        let each = self
            .agents
            .iter()
            .map(|(agent, why)| format!("{agent} cannot start ({why})"));
        let each: Vec<String> = each.collect();
        let them = match each.len() {
            0 => return None,
            1 => "it",
            _ => "them",
        };
        Some(format!(
            "{}, so nothing was asked: --error-mode continue goes on without {them}",
            each.join(", and ")
        ))
    }

    /// The files that are nobody, each with the first thing that is wrong with it.
    pub(super) fn files(&self) -> Vec<&Fault> {
        let mut files: Vec<&Fault> = Vec::new();
        for fault in &self.unusable {
            if files.iter().all(|other| other.path != fault.path) {
                files.push(fault);
            }
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{Kind, discover};

    use super::*;

    /// spec: SOP-4.4, SOP-8.5
    #[test]
    fn agents_that_are_not_at_work_and_files_that_are_nobody_are_told_apart() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["lead", "critic", "writer"] {
            let kind = if name == "lead" {
                "type: orchestrator\n"
            } else {
                ""
            };
            let text = format!("---\nname: {name}\ndescription: x\n{kind}---\nWork.\n");
            fs::write(folder.path().join(format!("{name}.md")), text).expect("it is ours");
        }
        let broken = "---\ndescription: x\ninputs:\n  n: {type: enum}\n---\nWork.\n";
        fs::write(folder.path().join("broken.md"), broken).expect("it is ours");
        let found = discover(folder.path()).expect("it is a folder");
        let member = |name: &str| Member {
            name: name.to_owned(),
            kind: Kind::Agent,
            path: folder.path().join(format!("{name}.md")),
        };
        let why = "there is no key";
        let mut told = found.faults.clone();
        told.push(Fault::error(&folder.path().join("critic.md"), why));

        let away = absent(&found, &[member("lead"), member("writer")], &told);
        assert_eq!(away.agents, [("critic".to_owned(), why.to_owned())]);
        assert_eq!(
            away.refusal().as_deref(),
            Some(
                "critic cannot start (there is no key), so nothing was asked: --error-mode continue goes on without it"
            )
        );
        assert!(away.unusable.len() > 1, "{:?}", away.unusable);
        let files = away.files();
        assert_eq!(files.len(), 1, "{files:?}");
        assert!(files[0].path.ends_with("broken.md"), "{files:?}");

        let all = absent(&found, &[member("critic"), member("writer")], &told);
        assert_eq!(all.refusal(), None);
    }
}
