//! The log in memory, lost with the process.

use std::sync::Arc;

use super::{
    Commit, Commits, EventLog, History, LogId, Position, Record, commits::Committer, window::Window,
};
use crate::Error;

/// The log, see the module.
#[derive(Debug)]
pub(crate) struct MemoryLog {
    id: LogId,
    next: u64,
    window: Window,
    commits: Committer,
}

impl MemoryLog {
    /// An empty log that keeps this many records and bytes for rereading.
    pub(crate) fn new(max_records: usize, max_bytes: usize) -> Self {
        let id = LogId::random();
        Self {
            id,
            next: 1,
            window: Window::new(id, max_records, max_bytes),
            commits: Committer::new(Commit::Upto(Position(0))),
        }
    }
}

impl EventLog for MemoryLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn next_position(&self) -> Position {
        Position(self.next)
    }

    fn admit(&self) -> Result<(), Error> {
        Ok(())
    }

    fn admit_accepted(&self) -> Result<(), Error> {
        Ok(())
    }

    fn append(&mut self, record: Record) {
        debug_assert_eq!(record.position.0, self.next);
        self.next += 1;
        self.window.push(record);
    }

    fn commit(&mut self) {
        let last = Commit::Upto(Position(self.next - 1));
        self.commits.announce(last);
    }

    fn abandon(&mut self) {
        // Durable only as long as the process lives.
    }

    fn commits(&self) -> Commits {
        self.commits.subscribe()
    }

    fn history(&self) -> Arc<dyn History> {
        Arc::new(self.window.clone())
    }
}
