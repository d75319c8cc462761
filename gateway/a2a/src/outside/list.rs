//! The list of agents elsewhere: one file of JSON, written anew and put in place of the old one.

use std::{fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::replace_file::replace_file;
use crate::client::Auth;

/// Name of the file in the data folder.
const FILE: &str = "outside-agents.json";

/// An agent elsewhere, as it was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    /// Id on the hub.
    pub(super) id: String,
    /// Address of the agent, or of its card.
    pub(super) url: String,
    /// Credentials by reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) auth: Option<Auth>,
}

#[derive(Default, Serialize, Deserialize)]
struct Written {
    agents: Vec<Entry>,
}

/// The list, and where it is kept.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Nowhere if `None`.
    folder: Option<PathBuf>,
    entries: Vec<Entry>,
}

impl List {
    /// Reads the list.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not as it was written.
    pub(super) fn open(folder: Option<PathBuf>) -> io::Result<Self> {
        let entries = match &folder {
            None => Vec::new(),
            Some(folder) => {
                let path = folder.join(FILE);
                let named = |error: io::Error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                };
                match fs::read(&path) {
                    Ok(text) => {
                        let read = serde_json::from_slice::<Written>(&text);
                        read.map_err(|error| named(error.into()))?.agents
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                    Err(error) => return Err(named(error)),
                }
            }
        };
        Ok(Self { folder, entries })
    }

    pub(super) fn all(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Adds an agent. Once this returns, it is safe.
    ///
    /// # Errors
    ///
    /// It cannot be written; the list is as before.
    pub(super) fn add(&mut self, entry: Entry) -> io::Result<()> {
        let mut entries = self.entries.clone();
        entries.push(entry);
        self.replace(entries)
    }

    /// Removes an agent, if it is there.
    ///
    /// # Errors
    ///
    /// It cannot be written; the list is as before.
    pub(super) fn remove(&mut self, id: &str) -> io::Result<()> {
        let mut entries = self.entries.clone();
        entries.retain(|entry| entry.id != id);
        self.replace(entries)
    }

    fn replace(&mut self, entries: Vec<Entry>) -> io::Result<()> {
        if let Some(folder) = &self.folder {
            let written = serde_json::to_vec_pretty(&Written {
                agents: entries.clone(),
            })?;
            replace_file(folder, FILE, &written)?;
        }
        self.entries = entries;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::auth::SecretRef;

    fn entry(id: &str) -> Entry {
        Entry {
            id: id.into(),
            url: format!("https://{id}.example/"),
            auth: Some(Auth::Bearer {
                token: SecretRef::Env("AGENTHUB_SECRET_A".into()),
            }),
        }
    }

    #[test]
    fn the_list_outlives_who_wrote_it_and_has_no_secrets() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("data");
        let mut list = List::open(Some(path.clone())).expect("nothing is there");
        list.add(entry("a")).expect("it is written");
        list.add(entry("b")).expect("it is written");
        list.remove("a").expect("it is written");
        list.remove("nobody").expect("it is written");
        let again = List::open(Some(path.clone())).expect("it is read");
        assert_eq!(again.all(), [entry("b")]);
        assert_eq!(again.get("a"), None);
        let text = fs::read_to_string(path.join(FILE)).expect("text");
        assert!(text.contains("env:AGENTHUB_SECRET_A"), "{text}");
    }

    #[test]
    fn a_list_that_is_damaged_is_not_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(FILE), "{\"agents\": [").expect("it is written");
        let error = List::open(Some(folder.path().to_owned()));
        let error = error.expect_err("it is damaged").to_string();
        let path = folder.path().join(FILE);
        assert!(
            error.starts_with(&format!("{}: ", path.display())),
            "{error}"
        );
    }
}
