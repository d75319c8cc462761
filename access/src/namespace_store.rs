//! The file of namespaces that were added beside a hub, running or not. Several processes may change it: each locks it, reads, and replaces it as a whole.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Namespace,
    private_files::{locked, write_private},
    store::place_of,
};

/// Maximum namespaces of a hub beside `default`.
pub const MAX_NAMESPACES: usize = 64;

/// Errors of the file.
#[derive(Debug, thiserror::Error)]
pub enum NamespacesError {
    /// It cannot be read or written.
    #[error("{}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: io::Error,
    },
    /// It holds something else.
    #[error("{} is no file of namespaces: {reason}; mend it, put a copy of it back, or remove it if there are none beside default", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// There are too many.
    #[error("a hub has {MAX_NAMESPACES} namespaces at most beside default")]
    TooMany,
    /// It is there.
    #[error("the namespace {0} is there already")]
    There(Namespace),
    /// It is not there.
    #[error("there is no namespace {0}: `agenthub namespaces list` shows those there are")]
    Unknown(Namespace),
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    namespaces: BTreeSet<Namespace>,
}

/// The file of namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceStore(PathBuf);

impl NamespaceStore {
    /// The file of a hub with this data folder. It need not be there yet.
    pub fn in_folder(data: &Path) -> Self {
        Self(data.join("access").join("namespaces.json"))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The namespaces; none without a file.
    ///
    /// # Errors
    ///
    /// [`NamespacesError::Io`] and [`NamespacesError::Damaged`].
    pub fn read(&self) -> Result<BTreeSet<Namespace>, NamespacesError> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(self.io(error)),
        };
        match serde_json::from_str::<Content>(&text) {
            Ok(content) => Ok(content.namespaces),
            Err(error) => Err(NamespacesError::Damaged {
                path: self.0.clone(),
                // Names are no secrets.
                reason: match error.is_data() {
                    true => error.to_string(),
                    false => place_of(&error),
                },
            }),
        }
    }

    /// Adds one, durably.
    ///
    /// # Errors
    ///
    /// All but [`NamespacesError::Unknown`].
    pub fn add(&self, namespace: &Namespace) -> Result<(), NamespacesError> {
        self.change(|namespaces| {
            if namespaces.contains(namespace) {
                return Err(NamespacesError::There(namespace.clone()));
            }
            if namespaces.len() >= MAX_NAMESPACES {
                return Err(NamespacesError::TooMany);
            }
            namespaces.insert(namespace.clone());
            Ok(())
        })
    }

    /// Takes one out, durably.
    ///
    /// # Errors
    ///
    /// [`NamespacesError::Unknown`], and those of [`read`](Self::read).
    pub fn remove(&self, namespace: &Namespace) -> Result<(), NamespacesError> {
        self.change(|namespaces| match namespaces.remove(namespace) {
            true => Ok(()),
            false => Err(NamespacesError::Unknown(namespace.clone())),
        })
    }

    /// Changes the file, alone among all processes.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeSet<Namespace>) -> Result<(), NamespacesError>,
    ) -> Result<(), NamespacesError> {
        let _lock = locked(&self.0).map_err(|error| self.io(error))?;
        let mut content = Content {
            namespaces: self.read()?,
        };
        change(&mut content.namespaces)?;
        let text = serde_json::to_string_pretty(&content).map_err(|error| self.io(error.into()))?;
        let written = write_private(&self.0, text.as_bytes());
        written.map_err(|error| self.io(error))
    }

    fn io(&self, why: io::Error) -> NamespacesError {
        NamespacesError::Io {
            path: self.0.clone(),
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Namespace {
        text.parse().expect("a name")
    }

    #[test]
    fn namespaces_come_and_go_once_and_their_number_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = NamespaceStore::in_folder(folder.path());
        assert!(store.read().expect("no file is none").is_empty());
        store.add(&name("a")).expect("it is new");
        let again = store.add(&name("a")).expect_err("it is there");
        assert!(matches!(again, NamespacesError::There(_)), "{again}");
        for number in 1..MAX_NAMESPACES {
            store.add(&name(&format!("n{number}"))).expect("new");
        }
        let more = store.add(&name("b")).expect_err("too many");
        assert!(matches!(more, NamespacesError::TooMany), "{more}");
        store.remove(&name("a")).expect("it is there");
        let gone = store.remove(&name("a")).expect_err("it is gone");
        assert!(gone.to_string().contains("namespaces list"), "{gone}");
        assert_eq!(store.read().expect("read").len(), MAX_NAMESPACES - 1);
    }

    #[test]
    fn several_processes_lose_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = NamespaceStore::in_folder(folder.path());
        std::thread::scope(|scope| {
            for process in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for number in 0..5 {
                        let name = name(&format!("n{process}-{number}"));
                        store.add(&name).expect("it is new");
                    }
                });
            }
        });
        assert_eq!(store.read().expect("it reads").len(), 20);
    }

    #[test]
    fn a_damaged_file_is_no_empty_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = NamespaceStore::in_folder(folder.path());
        fs::create_dir(folder.path().join("access")).expect("a folder");
        for (damaged, said) in [
            ("", "it ends too early, at line 1, column 0"),
            ("{", "it ends too early, at line 1, column 1"),
            ("team-a", "it is no JSON, at line 1"),
            (
                r#"{"namespaces": ["../x"]}"#,
                "`../x` is no name of a namespace",
            ),
        ] {
            fs::write(store.path(), damaged).expect("it is written");
            let error = store.read().expect_err("it is damaged").to_string();
            let said = format!("is no file of namespaces: {said}");
            assert!(error.contains(&said), "{error}");
            assert!(error.contains("or remove it if"), "{error}");
            assert!(store.add(&name("a")).is_err());
            assert_eq!(fs::read_to_string(store.path()).expect("it is"), damaged);
        }
    }
}
