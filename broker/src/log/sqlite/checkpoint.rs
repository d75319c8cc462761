//! Moving the write-ahead log into the database. SQLite's own way hides a sync that failed, and tries it again.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
};

use rusqlite::{Connection, ErrorCode, hooks::Wal};

use super::room::Room;

/// Pages of the write-ahead log from which on they are moved: 16 MiB.
pub(super) const PAGES: i32 = 2000;

/// When pages of the write-ahead log are moved.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Pages that the last commit has left.
    waiting: Arc<AtomicI32>,
    /// As many as there were when pages were last moved, until the write-ahead log begins anew. It does not while somebody reads.
    tried: Cell<i32>,
    pages: i32,
    room: Room,
}

impl Checkpoints {
    /// Watches the commits of a connection.
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

    /// Whether so many pages have come since the last time that they are to be moved.
    pub(super) fn are_due(&self) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if waiting < self.tried.get() {
            self.tried.set(0);
        }
        waiting - self.tried.get() >= self.pages
    }

    /// Moves pages, as far as nobody reads them.
    pub(super) fn passive(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        self.move_pages(connection, "PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Moves everything, unless somebody reads or the disk is full: then it is done later.
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
