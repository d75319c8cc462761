//! The file and its tables.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode};

use super::StoreError;

/// Name of the file in the data folder.
const FILE: &str = "push.db";

/// SQLite application id: "AHPN".
const APPLICATION: i64 = 0x4148_504e;

/// Version of the tables.
const SCHEMA: i64 = 2;

/// Reasons why there is no store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or the file cannot be used.
    #[error("cannot use {}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another process, such as a tool for SQLite, holds the file's lock. Another hub never does: the lock of the data folder keeps it out.
    #[error("{} is locked by another process: stop that one, or name another data folder", .0.display())]
    Locked(PathBuf),
    /// Damaged, or the file of something else.
    #[error("{} is damaged, or no store of push notifications: restore a copy, or move it away to begin without configurations", .0.display())]
    Damaged(PathBuf),
    /// Written by a later release.
    #[error("{} was written by a later release (schema {found}, this one knows {SCHEMA}): use that one", path.display())]
    Later {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// Another error of SQLite.
    #[error("cannot use {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rusqlite::Error,
    },
}

impl From<StoreError> for OpenError {
    fn from(StoreError(source): StoreError) -> Self {
        let path = PathBuf::from(FILE);
        Self::Sqlite { path, source }
    }
}

const TABLES: &str = "
CREATE TABLE configs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    token TEXT NOT NULL,
    scheme TEXT NOT NULL,
    credentials TEXT NOT NULL,
    is_old INTEGER NOT NULL,      -- of A2A 0.3
    after TEXT NOT NULL,          -- position of the last event that was recorded, or is not to be
    state INTEGER,                -- of the task, as it was shown last; NULL before its first event
    added_ms INTEGER NOT NULL,
    ended_ms INTEGER,             -- of the task
    failures INTEGER NOT NULL DEFAULT 0,
    due_ms INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0,
    waiting_bytes INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '', -- principal that has made it
    UNIQUE (task, id)
) STRICT;
CREATE INDEX ended_configs ON configs (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX unbegun_configs ON configs (added_ms) WHERE state IS NULL;
CREATE INDEX waiting_configs ON configs (key) WHERE waiting > 0;
CREATE TABLE notifications (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    config INTEGER NOT NULL REFERENCES configs (key) ON DELETE CASCADE,
    id TEXT NOT NULL,
    position TEXT NOT NULL,
    body TEXT,                    -- NULL: the task as it is then
    made_ms INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX notifications_of ON notifications (config, seq);
CREATE TRIGGER waits AFTER INSERT ON notifications BEGIN
    UPDATE configs SET waiting = waiting + 1, waiting_bytes = waiting_bytes + coalesce(octet_length(NEW.body), 0) WHERE key = NEW.config;
END;
CREATE TRIGGER waits_no_more AFTER DELETE ON notifications BEGIN
    UPDATE configs SET waiting = waiting - 1, waiting_bytes = waiting_bytes - coalesce(octet_length(OLD.body), 0) WHERE key = OLD.config;
END;
CREATE TABLE reached (one INTEGER PRIMARY KEY CHECK (one = 1), position TEXT NOT NULL) STRICT;";

/// Additions to the tables of schema 1.
const FROM_1: &str = "ALTER TABLE configs ADD COLUMN owner TEXT NOT NULL DEFAULT '';";

pub(super) fn open(folder: Option<&Path>) -> Result<Connection, OpenError> {
    let Some(folder) = folder else {
        let path = PathBuf::from(":memory:");
        let opened = Connection::open_in_memory().and_then(|sql| prepare(&sql).map(|_| sql));
        return opened.map_err(|source| OpenError::Sqlite { path, source });
    };
    let path = folder.join(FILE);
    make(folder, &path).map_err(|source| OpenError::Unusable {
        path: path.clone(),
        source,
    })?;
    let opened = Connection::open(&path).and_then(|sql| {
        sql.busy_timeout(Duration::from_secs(5))?;
        sql.pragma_update(None, "journal_mode", "WAL")?;
        sql.pragma_update(None, "synchronous", "NORMAL")?;
        let marks = prepare(&sql)?;
        Ok((sql, marks))
    });
    match opened {
        Ok((sql, (APPLICATION, SCHEMA))) => Ok(sql),
        Ok((_, (APPLICATION, found))) => Err(OpenError::Later { path, found }),
        Ok(_) => Err(OpenError::Damaged(path)),
        Err(error) => Err(refused(&path, error)),
    }
}

/// Makes the tables in an empty database, mends those of earlier releases, and returns application id and version.
fn prepare(sql: &Connection) -> rusqlite::Result<(i64, i64)> {
    sql.pragma_update(None, "foreign_keys", true)?;
    let number = |pragma| sql.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let tables: i64 = sql.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        sql.execute_batch(&format!(
            "BEGIN; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}; COMMIT"
        ))?;
    }
    if (number("application_id")?, number("user_version")?) == (APPLICATION, 1) {
        sql.execute_batch(&format!(
            "BEGIN; {FROM_1} PRAGMA user_version = {SCHEMA}; COMMIT"
        ))?;
    }
    Ok((number("application_id")?, number("user_version")?))
}

/// Makes folder and file, for their owner alone: credentials are in it.
fn make(folder: &Path, path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = OpenOptions::new();
    file.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    match file.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn refused(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked(path),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => OpenError::Damaged(path),
        _ => OpenError::Sqlite { path, source },
    }
}
