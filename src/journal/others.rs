//! The journals of the other agents with the same data folder, for Cortex to show their runs.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use agenthub_cortex::Others;
use agenthub_sdk::runs::{Journal, journal::SqliteJournal};
use tonic::async_trait;

/// The most journals that are read.
const MAX_JOURNALS: usize = 256;

/// A folder of journals. Each is opened once, and let go when its file is gone.
#[derive(Clone, Debug)]
pub(super) struct Folder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// The journal that is not another's.
    own: PathBuf,
    open: Mutex<BTreeMap<String, Arc<dyn Journal>>>,
}

impl Folder {
    pub(super) fn new(path: &Path, own: &Path) -> Self {
        Self(Arc::new(Inner {
            path: path.to_owned(),
            own: own.to_owned(),
            open: Mutex::default(),
        }))
    }

    /// Blocks while files are opened.
    pub(super) fn look(&self) -> io::Result<BTreeMap<String, Arc<dyn Journal>>> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut there = BTreeMap::new();
        for entry in fs::read_dir(&self.0.path)? {
            let path = entry?.path();
            let is_journal = path.extension().is_some_and(|is| is == "db");
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(name) = name.filter(|_| is_journal && path != self.0.own) else {
                continue;
            };
            if there.len() == MAX_JOURNALS {
                tracing::warn!(folder = %self.0.path.display(), "only {MAX_JOURNALS} journals are read");
                break;
            }
            let journal = match open.remove(name) {
                Some(journal) => journal,
                None => match SqliteJournal::open_to_read(&path) {
                    Ok(journal) => Arc::new(journal) as _,
                    Err(error) => {
                        tracing::debug!(%error, "a journal of another agent cannot be read");
                        continue;
                    }
                },
            };
            there.insert(name.to_owned(), journal);
        }
        open.clone_from(&there);
        Ok(there)
    }
}

#[async_trait]
impl Others for Folder {
    async fn journals(&self) -> BTreeMap<String, Arc<dyn Journal>> {
        let folder = self.clone();
        let looked = tokio::task::spawn_blocking(move || folder.look()).await;
        let path = self.0.path.display();
        match looked {
            Ok(Ok(journals)) => journals,
            Ok(Err(error)) => {
                tracing::warn!(folder = %path, %error, "the journals of other agents cannot be read");
                BTreeMap::new()
            }
            Err(error) => {
                tracing::error!(folder = %path, %error, "the look for journals broke off");
                BTreeMap::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::journal::Filter;

    use super::*;
    use crate::journal::Kept;
    use crate::settings::KeepRuns;

    #[tokio::test]
    async fn the_journals_of_others_come_and_go_with_their_files() {
        let data = tempfile::tempdir().expect("a temporary folder");
        let own = Kept::open(Some(data.path()), &KeepRuns::default(), "me")
            .await
            .expect("free");
        let others = own.others.clone().expect("there is a folder");
        let names = async || {
            let journals = others.journals().await;
            journals.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(names().await, [""; 0]);

        let one = Kept::open(Some(data.path()), &KeepRuns::default(), "The One")
            .await
            .expect("free");
        let _two = Kept::open(Some(data.path()), &KeepRuns::default(), "two")
            .await
            .expect("free");
        fs::write(data.path().join("runs/three.db"), "no journal").expect("a file");
        assert_eq!(names().await, ["the-one", "two"]);
        let journals = others.journals().await;
        let listed = journals["two"].list(&Filter::default()).await;
        assert_eq!(listed, Ok(Vec::new()));

        drop(one);
        fs::remove_file(data.path().join("runs/the-one.db")).expect("it is there");
        assert_eq!(names().await, ["two"]);
    }
}
