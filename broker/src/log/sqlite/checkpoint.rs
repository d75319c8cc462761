//! Moving the write-ahead log into the database. SQLite's own way hides a sync that failed, and tries it again.

use rusqlite::{Connection, ErrorCode, ffi, hooks::Wal};

/// Pages of the write-ahead log from which on they are moved.
pub(super) const PAGES: i32 = 4000;

/// Moves pages after a commit that leaves so many; the commit fails if that fails.
pub(super) fn automatic(connection: &mut Connection, pages: i32) -> Result<(), rusqlite::Error> {
    connection.wal_hook(Some(move |wal: &mut Wal, waiting| {
        if waiting < pages {
            return Ok(());
        }
        later_if_it_has_to(wal.checkpoint())
    }))
}

/// Moves everything, unless somebody reads or the disk is full: then it is done later.
pub(super) fn complete(connection: &Connection) -> Result<(), rusqlite::Error> {
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    later_if_it_has_to(done)
}

fn later_if_it_has_to(done: Result<(), rusqlite::Error>) -> Result<(), rusqlite::Error> {
    match done {
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
