//! Checkpoints of the write-ahead log. SQLite's automatic checkpoint would hide a failed sync and retry it.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
};

use rusqlite::{Connection, ErrorCode, hooks::Wal};

use super::room::Room;

/// Pages in the write-ahead log that trigger a checkpoint: 16 MiB.
pub(super) const PAGES: i32 = 2000;

/// Schedule of checkpoints.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Pages in the write-ahead log after the last commit.
    waiting: Arc<AtomicI32>,
    /// Pages at the last checkpoint, until the write-ahead log restarts. It does not while a reader is active.
    tried: Cell<i32>,
    pages: i32,
    room: Room,
}

impl Checkpoints {
    /// Observes the commits of a connection.
    pub(super) fn new(
        connection: &mut Connection,
        pages: i32,
        room: Room,
    ) -> Result<Self, rusqlite::Error> {
        let waiting = Arc::new(AtomicI32::new(0));
        let seen = waiting.clone();
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            waiting,
            tried: Cell::new(0),
            pages,
            room,
        })
    }

    /// True if enough pages were added since the last checkpoint.
    pub(super) fn are_due(&self) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if waiting < self.tried.get() {
            self.tried.set(0);
        }
        waiting - self.tried.get() >= self.pages
    }

    /// Checkpoints pages, as far as readers permit.
    pub(super) fn passive(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        self.move_pages(connection, "PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Checkpoints everything, unless a reader is active or the disk is full: then later.
    pub(super) fn complete(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        self.move_pages(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    fn move_pages(&self, connection: &Connection, how: &str) -> Result<(), rusqlite::Error> {
        self.tried.set(self.waiting.load(Ordering::Relaxed));
        match connection.query_row(how, [], |_| Ok(())) {
            Err(error) if self.room.is_lacking(&error) => Ok(()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
            other => other,
        }
    }
}
