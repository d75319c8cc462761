//! A log that reports records as durable too early. It exists only to prove that the crash test detects such a hub.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    Commit, Commits, EventLog, History, LogId, Position, Record, SqliteLog, commits::Committer,
};
use crate::Error;

/// Delay until records are really durable.
const LAG: Duration = Duration::from_millis(200);

/// Reports every group as durable at once, and passes it to the real log later.
#[derive(Debug)]
pub(crate) struct Early {
    log: SqliteLog,
    claimed: Committer,
    committed: Instant,
}

impl Early {
    pub(crate) fn new(log: SqliteLog) -> Self {
        let safe = log.commits().latest().clone();
        Self {
            log,
            claimed: Committer::new(safe),
            committed: Instant::now(),
        }
    }
}

impl EventLog for Early {
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn next_position(&self) -> Position {
        self.log.next_position()
    }

    fn admit(&self) -> Result<(), Error> {
        self.log.admit()
    }

    fn admit_accepted(&self) -> Result<(), Error> {
        self.log.admit_accepted()
    }

    fn append(&mut self, record: Record) {
        self.log.append(record);
    }

    fn commit(&mut self) {
        let last = Commit::Upto(Position(self.log.next_position().0 - 1));
        self.claimed.announce(last);
        if self.committed.elapsed() >= LAG {
            self.log.commit();
            self.committed = Instant::now();
        }
    }

    fn abandon(&mut self) {
        self.log.abandon();
    }

    fn commits(&self) -> Commits {
        self.claimed.subscribe()
    }

    fn close(&mut self) -> Option<JoinHandle<()>> {
        self.log.close()
    }

    fn queued_bytes(&self) -> usize {
        self.log.queued_bytes()
    }

    fn history(&self) -> Arc<dyn History> {
        self.log.history()
    }
}
