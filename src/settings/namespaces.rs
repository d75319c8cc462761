//! The namespaces of a hub beside `default`.

use std::{collections::BTreeSet, path::PathBuf};

use agenthub_access::{Namespace, NamespaceStore};
use agenthub_workflow::SecretSource;

use super::{Folders, Kafka, Settings};
use crate::cli::Executors;

impl Settings {
    /// Those of the table `[access]`, without `default`, which is always there.
    pub(crate) fn namespaces(&self) -> BTreeSet<Namespace> {
        let named = self.access.iter().flat_map(|access| &access.namespaces);
        let beside = named.filter(|namespace| !namespace.is_default());
        beside.cloned().collect()
    }

    /// The file of those that were added; `None` without a data folder.
    pub(crate) fn namespace_store(&self) -> Option<NamespaceStore> {
        self.data().map(NamespaceStore::in_folder)
    }

    /// The file in which a hub says how its namespaces stand; `None` without a data folder.
    pub(crate) fn standings_file(&self) -> Option<PathBuf> {
        self.data().map(|data| data.join("access/standing.json"))
    }

    /// The folder of a namespace; `None` if no files are to be written.
    pub(crate) fn folder_of(&self, namespace: &Namespace) -> Option<PathBuf> {
        let data = self.data()?;
        Some(match namespace.is_default() {
            true => data.to_owned(),
            false => data.join("namespaces").join(namespace.as_str()),
        })
    }

    /// The secrets of workflows: variables of the process for `default`, and files of its own for another namespace.
    pub(crate) fn workflow_secrets(&self) -> SecretSource {
        match (self.is_of_namespace, self.data()) {
            (false, _) => SecretSource::Variables,
            (true, Some(data)) => SecretSource::Folder(data.join("secrets")),
            (true, None) => SecretSource::Nowhere,
        }
    }

    /// The settings of a namespace: its files are in a folder of its own, and what several hubs may share by name serves `default` alone: Kafka, claim checks, a database of
    /// runs, and executors that are processes.
    pub(crate) fn of_namespace(&self, namespace: &Namespace) -> Self {
        Self {
            data: self
                .folder_of(namespace)
                .unwrap_or_else(|| self.data.clone()),
            kafka: Kafka::default(),
            claims: None,
            journal: None,
            executors: Executors::Tasks,
            token_file: None,
            // They are those of whoever runs the process.
            folders: Folders::default(),
            is_of_namespace: true,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_a_folder_of_its_own_and_shares_nothing_by_name() {
        let settings = Settings::of_text(
            "data = 'd'\njournal = 'host=db'\nclaims = 'file:///c'\nexecutors = 'processes'\n[kafka]\nservers = 'k:1'\n[access]\nnamespaces = ['a', 'default', 'b']\n",
        );
        let settings = settings.expect("right");
        let names: Vec<Namespace> = settings.namespaces().into_iter().collect();
        assert_eq!(
            names.iter().map(Namespace::as_str).collect::<Vec<_>>(),
            ["a", "b"]
        );
        let a = settings.of_namespace(&names[0]);
        assert_eq!(a.data(), Some(std::path::Path::new("d/namespaces/a")));
        assert_eq!(
            (a.journal, a.claims, a.kafka),
            (None, None, Kafka::default())
        );
        assert_eq!(a.executors, Executors::Tasks);
        assert!(a.is_of_namespace && !settings.is_of_namespace);
        let wrong = Settings::of_text("[access]\nnamespaces = ['../x']\n").expect_err("no name");
        assert!(wrong.to_string().contains("such as team-a"), "{wrong}");
    }
}
