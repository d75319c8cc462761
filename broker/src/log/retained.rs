//! A log in memory that outlives its hub, as a disk does: for simulated crashes.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use tokio::{sync::Notify, time::sleep};

use super::{
    Commit, Commits, EventLog, History, LogId, LogPart, OpenError, Position, Record, codec,
    commits::Committer, window::Window,
};
use crate::{Error, id::OrderKey};

/// Maximum records that are not durable; beyond it, new work is refused.
const BACKLOG: usize = 100_000;

/// Storage of a hub's log; clones share it. A new hub finds the records that were durable when the previous one
/// crashed. One hub at a time.
#[derive(Clone, Debug)]
pub struct RetainedLog {
    rows: Arc<Mutex<Vec<Row>>>,
    id: LogId,
    delay: Duration,
}

impl RetainedLog {
    /// An empty log, whose records become durable after this delay. A crash loses all others.
    pub fn new(delay: Duration) -> Self {
        Self {
            rows: Arc::default(),
            id: LogId::random(),
            delay,
        }
    }

    /// Passes the durable records to `take`, and returns the log of one hub with its background work: without it,
    /// nothing becomes durable.
    ///
    /// # Errors
    ///
    /// [`OpenError::Damaged`] if a record cannot be decoded or is refused.
    pub(crate) fn open(
        &self,
        max_records: usize,
        max_bytes: usize,
        mut take: impl FnMut(LogPart<'_>) -> Result<(), String>,
    ) -> Result<(Writing, BoxFuture<'static, ()>), OpenError> {
        let window = Window::new(self.id, max_records, max_bytes);
        let mut safe = 0;
        for row in &*self.rows() {
            let damaged = |reason| OpenError::Damaged {
                path: "memory".into(),
                position: safe + 1,
                reason,
            };
            let record = row.read(safe + 1).map_err(damaged)?;
            take(LogPart::Record(&record)).map_err(damaged)?;
            window.push(record);
            safe += 1;
        }
        let commits = Arc::new(Committer::new(Commit::Upto(Position(safe))));
        let waiting = Arc::new(Waiting::default());
        let writing = Writing {
            id: self.id,
            next: safe + 1,
            window,
            group: Vec::new(),
            waiting: waiting.clone(),
            commits: commits.clone(),
        };
        Ok((writing, Box::pin(self.clone().write(waiting, commits))))
    }

    /// Makes commits durable after the delay.
    async fn write(self, waiting: Arc<Waiting>, commits: Arc<Committer>) {
        loop {
            waiting.wake.notified().await;
            let rows = std::mem::take(&mut *waiting.rows());
            sleep(self.delay).await;
            let last = {
                let mut safe = self.rows();
                safe.extend(rows);
                Position(safe.len() as u64)
            };
            commits.announce(Commit::Upto(last));
        }
    }

    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compares identity, not content.
impl PartialEq for RetainedLog {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows)
    }
}

impl Eq for RetainedLog {}

/// An encoded record.
#[derive(Debug)]
struct Row {
    time: SystemTime,
    namespace: String,
    principal: String,
    order: OrderKey,
    entry: Vec<u8>,
}

impl Row {
    fn read(&self, position: u64) -> Result<Record, String> {
        Ok(Record {
            position: Position(position),
            time: self.time,
            namespace: self.namespace.clone(),
            principal: self.principal.clone(),
            order: self.order.clone(),
            entry: codec::decode(&self.entry).map_err(|e| e.to_string())?,
        })
    }
}

impl From<&Record> for Row {
    fn from(record: &Record) -> Self {
        Self {
            time: record.time,
            namespace: record.namespace.clone(),
            principal: record.principal.clone(),
            order: record.order.clone(),
            entry: codec::encode(&record.entry),
        }
    }
}

/// Commits that are not durable yet.
#[derive(Debug, Default)]
struct Waiting {
    rows: Mutex<Vec<Row>>,
    wake: Notify,
}

impl Waiting {
    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log as its hub uses it.
#[derive(Debug)]
pub(crate) struct Writing {
    id: LogId,
    next: u64,
    window: Window,
    group: Vec<Row>,
    waiting: Arc<Waiting>,
    commits: Arc<Committer>,
}

impl EventLog for Writing {
    fn id(&self) -> LogId {
        self.id
    }

    fn next_position(&self) -> Position {
        Position(self.next)
    }

    fn admit(&self) -> Result<(), Error> {
        if self.waiting.rows().len() >= BACKLOG {
            return Err(Error::behind());
        }
        Ok(())
    }

    fn admit_accepted(&self) -> Result<(), Error> {
        self.admit()
    }

    fn append(&mut self, record: Record) {
        debug_assert_eq!(record.position.0, self.next);
        self.next += 1;
        self.group.push(Row::from(&record));
        self.window.push(record);
    }

    fn commit(&mut self) {
        if !self.group.is_empty() {
            self.waiting.rows().append(&mut self.group);
            self.waiting.wake.notify_one();
        }
    }

    fn abandon(&mut self) {
        self.group.clear();
    }

    fn commits(&self) -> Commits {
        self.commits.subscribe()
    }

    fn history(&self) -> Arc<dyn History> {
        Arc::new(self.window.clone())
    }
}
