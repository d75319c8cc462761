//! The standing of each namespace, in a file beside those of the hub for commands on its machine.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write as _},
    path::PathBuf,
};

use agenthub_access::Namespace;
use serde::{Deserialize, Serialize};

/// Standing of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum Standing {
    /// It is about to be opened.
    Opening,
    /// It is served.
    Open,
    /// It cannot be opened; that is tried again.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// The standings, and the file that has them if the hub has a folder.
#[derive(Debug)]
pub(crate) struct Standings {
    file: Option<PathBuf>,
    all: BTreeMap<Namespace, Standing>,
}

impl Standings {
    /// No standings yet.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        let standings = Self {
            file,
            all: BTreeMap::new(),
        };
        standings.write();
        standings
    }

    /// Standings that a hub has left in a file; none where there is no file.
    pub(crate) fn read(file: &std::path::Path) -> BTreeMap<Namespace, Standing> {
        let text = fs::read_to_string(file).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Sets a standing. True if it is another one than before.
    pub(crate) fn set(&mut self, name: &Namespace, standing: Standing) -> bool {
        if self.all.get(name) == Some(&standing) {
            return false;
        }
        // While it is opened again the reason stays to be seen.
        if standing == Standing::Opening
            && let Some(Standing::Failed { .. }) = self.all.get(name)
        {
            return false;
        }
        self.all.insert(name.clone(), standing);
        self.write();
        true
    }

    /// Forgets a namespace that is gone.
    pub(crate) fn remove(&mut self, name: &Namespace) {
        if self.all.remove(name).is_some() {
            self.write();
        }
    }

    fn write(&self) {
        let Some(file) = &self.file else {
            return;
        };
        let written = || -> io::Result<()> {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            let next = file.with_extension("next");
            File::create(&next)?.write_all(&serde_json::to_vec_pretty(&self.all)?)?;
            fs::rename(&next, file)
        };
        if let Err(error) = written() {
            tracing::warn!("how namespaces stand cannot be written: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_stays_until_the_namespace_is_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("standing.json");
        let name: Namespace = "team-a".parse().expect("a name");
        let failed = Standing::Failed {
            reason: "its log is damaged".to_owned(),
        };
        let mut standings = Standings::new(Some(file.clone()));
        assert!(standings.set(&name, Standing::Opening));
        assert!(standings.set(&name, failed.clone()));
        assert!(!standings.set(&name, Standing::Opening), "it failed before");
        assert!(!standings.set(&name, failed.clone()), "for the same reason");
        assert_eq!(Standings::read(&file)[&name], failed);
        assert!(standings.set(&name, Standing::Open));
        assert_eq!(Standings::read(&file)[&name], Standing::Open);
        standings.remove(&name);
        assert!(Standings::read(&file).is_empty());
    }
}
