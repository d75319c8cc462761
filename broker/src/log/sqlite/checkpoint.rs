//! Moving the write-ahead log into the database. SQLite's own way hides a sync that failed, and tries it again.

use std::sync::{
    Arc,
    atomic::{AtomicI32, Ordering},
};

use rusqlite::{Connection, ErrorCode, ffi, hooks::Wal};

/// Pages of the write-ahead log from which on they are moved.
pub(super) const PAGES: i32 = 4000;

/// When pages of the write-ahead log are moved.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Pages that the last commit has left.
    waiting: Arc<AtomicI32>,
    pages: i32,
}

impl Checkpoints {
    /// Watches the commits of a connection.
    pub(super) fn new(connection: &mut Connection, pages: i32) -> Result<Self, rusqlite::Error> {
        let waiting = Arc::new(AtomicI32::new(0));
        let seen = waiting.clone();
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            seen.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { waiting, pages })
    }

    /// Moves pages if so many wait, as far as nobody reads them.
    pub(super) fn after_commit(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        match self.waiting.load(Ordering::Relaxed) < self.pages {
            true => Ok(()),
            false => move_pages(connection, "PRAGMA wal_checkpoint(PASSIVE)"),
        }
    }
}

/// Moves everything, unless somebody reads or the disk is full: then it is done later.
pub(super) fn complete(connection: &Connection) -> Result<(), rusqlite::Error> {
    move_pages(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
}

fn move_pages(connection: &Connection, how: &str) -> Result<(), rusqlite::Error> {
    match connection.query_row(how, [], |_| Ok(())) {
        Err(error) if is_full(&error) => Ok(()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        other => other,
    }
}

/// Whether there is no room on the disk: for a file, or for the index of the write-ahead log.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|e| {
        e.code == ErrorCode::DiskFull || e.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    })
}
