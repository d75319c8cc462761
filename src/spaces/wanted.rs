//! The namespaces that a hub is to have: those of the settings, and those that were added to its data folder.

use std::{collections::BTreeSet, fs, time::SystemTime};

use agenthub_access::{Namespace, NamespaceStore};

use crate::settings::Settings;

/// The mark that tells one version of a file from another without reading it.
type Stamp = Option<(SystemTime, u64)>;

/// The wanted namespaces, as far as they are known.
#[derive(Debug)]
pub(super) struct Wanted {
    of_settings: BTreeSet<Namespace>,
    store: Option<NamespaceStore>,
    stamp: Option<Stamp>,
    known: BTreeSet<Namespace>,
}

impl Wanted {
    /// The namespaces of these settings.
    pub(super) fn new(settings: &Settings) -> Self {
        let of_settings = settings.namespaces();
        Self {
            known: of_settings.clone(),
            of_settings,
            store: settings.namespace_store(),
            stamp: None,
        }
    }

    /// Looks whether the file has changed. What cannot be read is as it was, and is not looked at again until it changes.
    pub(super) fn look(&mut self) -> &BTreeSet<Namespace> {
        let Some(store) = &self.store else {
            return &self.known;
        };
        let metadata = fs::metadata(store.path()).ok();
        let stamp = metadata.and_then(|found| Some((found.modified().ok()?, found.len())));
        if self.stamp != Some(stamp) {
            self.stamp = Some(stamp);
            match store.read() {
                Ok(added) => self.known = self.of_settings.union(&added).cloned().collect(),
                Err(error) => tracing::error!("the namespaces stay as they are: {error}"),
            }
        }
        &self.known
    }

    /// The latest finding.
    pub(super) fn known(&self) -> &BTreeSet<Namespace> {
        &self.known
    }
}
