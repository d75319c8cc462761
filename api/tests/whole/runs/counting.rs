//! A journal in memory that counts what is read of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use agenthub_sdk::runs::{
    Journal, RunId,
    journal::{Entry, Filter, JournalDecorator, JournalError, ListedRun, MemoryJournal},
};

/// The journal, and the counts since they were taken last.
#[derive(Debug, Default)]
pub(super) struct CountingJournal {
    journal: MemoryJournal,
    reads: AtomicUsize,
    events: AtomicUsize,
    lists: AtomicUsize,
}

/// Counts of calls, and of the events that they gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) reads: usize,
    pub(super) events: usize,
    pub(super) lists: usize,
}

impl CountingJournal {
    /// Takes the counts: they begin anew.
    pub(super) fn take_counts(&self) -> Counts {
        let take = |count: &AtomicUsize| count.swap(0, Ordering::Relaxed);
        Counts {
            reads: take(&self.reads),
            events: take(&self.events),
            lists: take(&self.lists),
        }
    }
}

#[tonic::async_trait]
impl JournalDecorator for CountingJournal {
    fn inner(&self) -> &dyn Journal {
        &self.journal
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let entries = self.journal.read(run, after, limit).await?;
        self.events.fetch_add(entries.len(), Ordering::Relaxed);
        Ok(entries)
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.journal.list(filter).await
    }
}
