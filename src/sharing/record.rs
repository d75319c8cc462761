//! Shared agents that were brought to a directory and not taken from it: so that one whose grant is withdrawn while no process runs is taken from it later, and an id that
//! others have is not taken for one of these.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write as _},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_access::Loan;

/// The record. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Record(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Option<PathBuf>,
    loans: Mutex<BTreeSet<Loan>>,
}

impl Record {
    /// The record in this file; in memory without one. A file that cannot be read is logged, and counts as empty: then an agent is not brought where its id is
    /// taken.
    pub(super) fn open(file: Option<PathBuf>) -> Self {
        let text = file.as_ref().map(fs::read_to_string);
        let loans = match text {
            None => BTreeSet::new(),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Some(Err(error)) => {
                tracing::error!("which agents are shared cannot be read: {error}");
                BTreeSet::new()
            }
            Some(Ok(text)) => serde_json::from_str(&text).unwrap_or_else(|error| {
                tracing::error!("the record of shared agents is damaged: {error}");
                BTreeSet::new()
            }),
        };
        Self(Arc::new(Inner {
            file,
            loans: Mutex::new(loans),
        }))
    }

    pub(super) fn loans(&self) -> BTreeSet<Loan> {
        self.lock().clone()
    }

    pub(super) fn has(&self, loan: &Loan) -> bool {
        self.lock().contains(loan)
    }

    /// Notes a loan, before its agent is brought.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(super) fn add(&self, loan: &Loan) -> io::Result<()> {
        let mut loans = self.lock();
        let mut next = loans.clone();
        next.insert(loan.clone());
        self.write(&next)?;
        *loans = next;
        Ok(())
    }

    /// Forgets a loan, once its agent was taken away. What cannot be written is forgotten again later.
    pub(super) fn remove(&self, loan: &Loan) {
        let mut loans = self.lock();
        loans.remove(loan);
        if let Err(error) = self.write(&loans) {
            tracing::warn!("which agents are shared cannot be written: {error}");
        }
    }

    fn write(&self, loans: &BTreeSet<Loan>) -> io::Result<()> {
        let Some(file) = &self.0.file else {
            return Ok(());
        };
        let next = file.with_extension("next");
        let mut written = File::create(&next)?;
        written.write_all(&serde_json::to_vec_pretty(loans)?)?;
        written.sync_all()?;
        fs::rename(&next, file)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Loan>> {
        self.0.loans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_to_the_next_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("shared.json");
        let policy = agenthub_access::Policy::of_toml("[shares.\"a/x\"]\nwith = ['b', 'c']\n");
        let loans: Vec<Loan> = policy.expect("right").loans().into_iter().collect();
        let record = Record::open(Some(file.clone()));
        record.add(&loans[0]).expect("written");
        record.add(&loans[1]).expect("written");
        record.remove(&loans[0]);
        let next = Record::open(Some(file.clone()));
        assert!(!next.has(&loans[0]) && next.has(&loans[1]));
        fs::write(&file, "[").expect("written");
        assert!(Record::open(Some(file)).loans().is_empty());
    }
}
