//! Files that people write for the hub's process: teams in Markdown and workflows, and what is wrong with them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_sdk::runs::Journal;
use agenthub_sop::{Fault, Kind, discover};
use agenthub_workflow::checked_folder;
use futures_util::future::BoxFuture;

/// The journals of runs, by the names of their files.
pub type Journals =
    Arc<dyn Fn() -> BoxFuture<'static, BTreeMap<String, Arc<dyn Journal>>> + Send + Sync>;

/// Folders that the hub's process works with, and the journals of its agents. Only these are read, whatever a card names.
#[derive(Clone, Default)]
pub struct Files {
    /// Folders of teams in Markdown.
    pub teams: Vec<PathBuf>,
    /// Folders of workflows.
    pub workflows: Vec<PathBuf>,
    /// Journals in which reports are looked up; none if not given.
    pub journals: Option<Journals>,
    /// The model that Cortex thinks with; not shown if not given.
    pub model: Option<Model>,
}

/// A language model, for people.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Advice on how to have another one, where it is a stand-in.
    pub advice: Option<String>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files")
            .field("teams", &self.teams)
            .field("workflows", &self.workflows)
            .finish_non_exhaustive()
    }
}

/// A folder as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folder {
    pub(crate) path: String,
    pub(crate) files: Vec<File>,
    /// Faults of none of its files.
    pub(crate) faults: Vec<String>,
}

/// A file, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) path: String,
    /// The agent that it is; empty where it cannot be read.
    pub(crate) name: String,
    pub(crate) what: String,
    /// Each with the file, the line and the words around.
    pub(crate) faults: Vec<String>,
}

impl Files {
    /// Reads the folders of teams, and those of workflows. Takes a while: it is done apart from what others wait for.
    pub(crate) async fn read(&self) -> (Vec<Folder>, Vec<Folder>) {
        let Self {
            teams, workflows, ..
        } = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let teams = teams.iter().map(|dir| team(dir)).collect();
            (
                teams,
                workflows.iter().map(|dir| workflows_of(dir)).collect(),
            )
        });
        reading.await.unwrap_or_default()
    }
}

fn team(dir: &Path) -> Folder {
    match discover(dir) {
        Err(fault) => folder(dir, BTreeMap::new(), vec![fault]),
        Ok(found) => {
            let all = found.agents.values().chain(&found.orchestrators);
            let files = all
                .map(|agent| {
                    let file = File {
                        path: agent.path.display().to_string(),
                        name: agent.name.clone(),
                        what: match agent.kind {
                            Kind::Agent => agent.description.clone(),
                            Kind::Orchestrator => format!("leads the team: {}", agent.description),
                        },
                        faults: Vec::new(),
                    };
                    (agent.path.clone(), file)
                })
                .collect();
            folder(dir, files, found.faults)
        }
    }
}

fn workflows_of(dir: &Path) -> Folder {
    match checked_folder(dir) {
        Err(fault) => folder(dir, BTreeMap::new(), vec![fault]),
        Ok((found, faults)) => {
            let files = found
                .into_iter()
                .map(|(path, name)| {
                    let file = File {
                        path: path.display().to_string(),
                        name,
                        what: "workflow".to_owned(),
                        faults: Vec::new(),
                    };
                    (path, file)
                })
                .collect();
            folder(dir, files, faults)
        }
    }
}

/// The folder, with each fault at its file.
fn folder(dir: &Path, mut files: BTreeMap<PathBuf, File>, faults: Vec<Fault>) -> Folder {
    let mut own = Vec::new();
    for fault in faults {
        let shown = fault.rendered(false);
        match fault.path == dir {
            true => own.push(shown),
            false => {
                let file = files.entry(fault.path.clone()).or_insert_with(|| File {
                    path: fault.path.display().to_string(),
                    ..File::default()
                });
                file.faults.push(shown);
            }
        }
    }
    Folder {
        path: dir.display().to_string(),
        files: files.into_values().collect(),
        faults: own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_read_with_their_faults_in_place() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).expect("the folder is ours")
        };
        write(
            "good.sop.md",
            "---\nname: good\ndescription: Does it well\n---\n# Good\n\n## Steps\n\n1. Do it.\n\n## Rules\n\n- You MUST do it.\n",
        );
        write("bad.sop.md", "---\nname: bad\ndescription: [\n---\nx\n");
        write(
            "flow.yaml",
            "steps:\n  a: { agent: agent_echo, text: hi, depnds_on: [b] }\n",
        );
        let files = Files {
            teams: vec![dir.path().to_owned(), dir.path().join("none")],
            workflows: vec![dir.path().to_owned()],
            ..Files::default()
        };
        let (teams, workflows) = files.read().await;
        let file = |folder: &Folder, name: &str| {
            let file = folder.files.iter().find(|file| file.path.ends_with(name));
            file.cloned()
                .unwrap_or_else(|| panic!("{name}: {folder:?}"))
        };
        assert_eq!(file(&teams[0], "good.sop.md").name, "good");
        assert_eq!(file(&teams[0], "good.sop.md").faults, [""; 0]);
        let bad = file(&teams[0], "bad.sop.md");
        assert!(
            bad.faults[0].contains("bad.sop.md") && bad.faults[0].contains("description: ["),
            "{bad:?}"
        );
        assert!(teams[1].faults[0].contains("no such folder"), "{teams:?}");
        let flow = file(&workflows[0], "flow.yaml");
        assert!(flow.faults[0].contains("depnds_on"), "{flow:?}");
    }
}
