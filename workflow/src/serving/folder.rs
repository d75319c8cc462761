//! Reads a folder of workflows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_documents::{Fault, watching::Contents};
use agenthub_sdk::proto::slug::slug;

use crate::{executor::Served, loading::load_with_document};

/// The most files of one folder.
const MAX_FILES: usize = 1_000;

/// Workflows by their agents' ids.
pub(super) type ById = BTreeMap<String, Arc<Served>>;

/// Contents of a folder.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) workflows: ById,
    /// All that is wrong, in the order of the files.
    pub(super) faults: Vec<Fault>,
    /// The files that cannot be used, with the files that their faults are in: those that their steps name may be among these.
    pub(super) broken: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

/// Reads all workflows of a folder: `*.yaml`, `*.yml` and `*.json` that are not hidden. Where two files have one name, the one whose agent is at
/// work keeps it, also while that file has faults.
///
/// # Errors
///
/// There is no such folder, it cannot be read, or it holds more than 1,000 such files.
pub(super) fn read(dir: &Path, at_work: &ById) -> Result<Found, Fault> {
    let paths = paths(dir)?;
    let mut found = Found::default();
    let mut taken: BTreeMap<String, (String, PathBuf)> = BTreeMap::new();
    let mut read = Vec::new();
    for path in &paths {
        match load_with_document(path, None) {
            Ok((workflow, document)) => {
                read.push(Arc::new(Served::new(path.clone(), workflow, document)));
            }
            Err(faults) => {
                let places = faults.iter().map(|fault| fault.path.clone()).collect();
                found.broken.insert(path.clone(), places);
                for fault in faults {
                    if !found.faults.contains(&fault) {
                        found.faults.push(fault);
                    }
                }
                let holders = at_work.values().filter(|served| served.path == *path);
                taken.extend(holders.map(|s| (slug(&s.id), (s.id.clone(), s.path.clone()))));
            }
        }
    }
    let holds = |s: &Served| at_work.get(&s.id).is_some_and(|held| held.path == s.path);
    // Stable: among the others, the first file has the name.
    read.sort_by_key(|served| !holds(served));
    for served in read {
        if let Some((id, first)) = taken.get(&slug(&served.id)) {
            found.faults.push(same(&served, id, first));
            let path = served.path.clone();
            found.broken.insert(path.clone(), [path].into());
            continue;
        }
        let holder = (served.id.clone(), served.path.clone());
        taken.insert(slug(&served.id), holder);
        found.workflows.insert(served.id.clone(), served);
    }
    found.faults.sort_by(|a, b| a.path.cmp(&b.path));
    if paths.is_empty() {
        let fault = Fault::warning(dir, "the folder holds no workflows");
        found.faults.push(fault.helped(
            "a workflow is a file of YAML or JSON; docs/WORKFLOWS.md has one to begin with",
        ));
    }
    Ok(found)
}

/// The files of a folder that are watched.
pub(super) fn contents(dir: &Path) -> Contents {
    Contents {
        // A folder that cannot be read looks like one that is empty: either is told when the files are read.
        read: paths(dir).unwrap_or_default(),
        ..Contents::default()
    }
}

/// The workflow files of a folder, sorted.
fn paths(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Fault::error(dir, "there is no such folder")
            .helped("look at the spelling, and at the folder that you are in"),
        io::ErrorKind::NotADirectory => Fault::error(dir, "this is no folder")
            .helped("name the folder that holds the workflows"),
        _ => Fault::error(dir, format!("the folder cannot be read: {error}")),
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let is_workflow = ["yaml", "yml", "json"].iter().any(|e| extension == **e);
        if !is_hidden && is_workflow && !path.is_dir() {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            let message = format!("the folder holds more than {MAX_FILES} workflows");
            return Err(Fault::error(dir, message).helped("part them among several folders"));
        }
    }
    paths.sort();
    Ok(paths)
}

/// Two files for one agent.
fn same(served: &Served, id: &str, first: &Path) -> Fault {
    let (name, other) = (&served.id, first.display());
    let message = match name == id {
        true => format!("there are two workflows called `{name}`: in this file and in {other}"),
        false => format!(
            "`{name}` is too like `{id}` in {other}: both are `{}` in the names of tools and in addresses",
            slug(name)
        ),
    };
    Fault::error(&served.path, message)
        .helped("give one of them another `name`; this file is not used until then")
}
