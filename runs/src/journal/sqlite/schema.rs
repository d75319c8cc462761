//! The file and its tables.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{reads, space};
use crate::{
    id::RunId,
    journal::{Summary, rows},
};

/// SQLite application id of a journal: "AHRJ".
const APPLICATION: i64 = 0x4148_524a;

/// Version of the tables.
pub(super) const SCHEMA: i64 = 3;

/// Time to wait for another process's lock before a call fails.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reasons why a file cannot be opened as a journal.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be used.
    #[error("cannot use the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another process has kept it locked for 5 s.
    #[error("{} is locked by another process: stop that one, or name another file", .0.display())]
    Locked(PathBuf),
    /// Not an SQLite file, or damaged.
    #[error("{} is damaged, or no journal of runs: restore a copy, or move it away to begin with an empty one", .0.display())]
    Damaged(PathBuf),
    /// An SQLite file with other content.
    #[error("{} is the database of something else: name another file", .0.display())]
    Foreign(PathBuf),
    /// Written by a later release.
    #[error("{} was written by a later release (schema {found}, this one knows {SCHEMA}): use that one", path.display())]
    Later {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// Written by an earlier release, and opened for reading only.
    #[error("{} was written by an earlier release (schema {found}, this one knows {SCHEMA}): start what writes it with this one once", path.display())]
    Earlier {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// OpenedRun for reading, and missing.
    #[error("there is no journal of runs at {}", .0.display())]
    Missing(PathBuf),
    /// SQLite error.
    #[error("cannot use {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rusqlite::Error,
    },
}

/// Creates the file and its tables if missing. They survive a power cut.
pub(super) fn prepare(path: &Path) -> Result<Connection, OpenError> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = parent.unwrap_or(Path::new("."));
    let problem = |source| OpenError::Folder {
        path: folder.to_owned(),
        source,
    };
    private_folder().create(folder).map_err(problem)?;
    make_private(path).map_err(problem)?;
    let connection = connect(path)?;
    make_tables(&connection, path)?;
    space::prepare(&connection);
    let real = folder.canonicalize().map_err(problem)?;
    for folder in real.ancestors().take(2) {
        File::open(folder)
            .and_then(|f| f.sync_all())
            .map_err(problem)?;
    }
    Ok(connection)
}

/// Builder of folders with mode 0700, because journals contain what people said.
fn private_folder() -> DirBuilder {
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder
}

/// Creates a missing file with mode 0600; SQLite gives the files beside it the same mode. Removes other users'
/// permissions from existing files without opening them: closing one would release the locks that SQLite has on it in
/// this process.
fn make_private(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new();
    file.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, OWNER);
    match file.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let beside = |end: &str| {
                let mut name = path.as_os_str().to_owned();
                name.push(end);
                PathBuf::from(name)
            };
            close_to_others(path)?;
            close_to_others(&beside("-wal"))?;
            close_to_others(&beside("-shm"))
        }
        Err(error) => Err(error),
    }
}

/// Read and write for the owner alone.
#[cfg(unix)]
const OWNER: u32 = 0o600;

#[cfg(unix)]
fn close_to_others(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = match path.metadata() {
        Ok(metadata) => metadata.permissions(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if permissions.mode() & 0o077 == 0 {
        return Ok(());
    }
    permissions.set_mode(OWNER);
    std::fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens another connection to a prepared file.
pub(super) fn connect(path: &Path) -> Result<Connection, OpenError> {
    let configured = Connection::open(path).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        // Takes effect only before the first page is written.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    });
    configured.map_err(|error| refused(path, error))
}

/// Opens a read-only connection to a file that others write.
pub(super) fn connect_to_read(path: &Path) -> Result<Connection, OpenError> {
    if !path.exists() {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        let marks = marks(&connection)?;
        Ok((connection, marks))
    });
    let path = path.to_owned();
    match opened {
        Err(error) => Err(refused(&path, error)),
        Ok((connection, (APPLICATION, SCHEMA))) => Ok(connection),
        Ok((_, (APPLICATION, found))) if found > SCHEMA => Err(OpenError::Later { path, found }),
        Ok((_, (APPLICATION, found))) => Err(OpenError::Earlier { path, found }),
        Ok(_) => Err(OpenError::Foreign(path)),
    }
}

/// Application id of the file, and the version of its tables.
fn marks(connection: &Connection) -> Result<(i64, i64), rusqlite::Error> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
    Ok((number("application_id")?, number("user_version")?))
}

fn make_tables(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let refused = |error| refused(path, error);
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .map_err(refused)?;
    let (application, found) = marks(connection).map_err(refused)?;
    let is_empty = connection
        .query_row("SELECT count(*) = 0 FROM sqlite_master", [], |row| {
            row.get(0)
        })
        .map_err(refused)?;
    match (application, found) {
        (0, 0) if is_empty => connection
            .execute_batch(TABLES)
            .and_then(|()| connection.execute_batch(FROM_1))
            .and_then(|()| connection.execute_batch(FROM_2))
            .and_then(|()| connection.pragma_update(None, "application_id", APPLICATION))
            .and_then(|()| connection.pragma_update(None, "user_version", SCHEMA))
            .map_err(refused)?,
        (APPLICATION, found) if found > SCHEMA => {
            let path = path.to_owned();
            return Err(OpenError::Later { path, found });
        }
        (APPLICATION, found) if found < SCHEMA => {
            let from_1 = if found < 2 { FROM_1 } else { "" };
            connection
                .execute_batch(from_1)
                .and_then(|()| connection.execute_batch(FROM_2))
                .and_then(|()| sum_up(connection))
                .and_then(|()| connection.pragma_update(None, "user_version", SCHEMA))
                .map_err(refused)?;
        }
        (APPLICATION, _) => {}
        _ => return Err(OpenError::Foreign(path.to_owned())),
    }
    // Not part of the schema: files without it can be read, and earlier releases keep it.
    let index = format!(
        "CREATE INDEX IF NOT EXISTS runs_that_ask ON runs (id) WHERE {}",
        asks()
    );
    connection.execute_batch(&index).map_err(refused)?;
    // As the index: readers need no results, and an earlier release leaves them alone.
    connection.execute_batch(RESULTS).map_err(refused)?;
    connection.execute_batch("COMMIT").map_err(refused)
}

/// Condition of rows of runs that ask, by which SQLite finds their index.
pub(super) fn asks() -> String {
    format!("instr(summary, '{}') > 0", rows::ASKS)
}

fn refused(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked(path),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => OpenError::Damaged(path),
        _ => OpenError::Sqlite { path, source },
    }
}

/// The tables of schema 1, the base of all migrations. Small events are stored as text, readable with any SQLite
/// client; a large one is in its own table, so that the pages of the others stay together.
pub(super) const TABLES: &str = "
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    driver TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    last INTEGER NOT NULL,
    ended_ms INTEGER
);
CREATE INDEX runs_at_work ON runs (owner, id) WHERE ended_ms IS NULL;
CREATE INDEX runs_over ON runs (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE TABLE events (
    run INTEGER NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    event TEXT,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE TABLE large_events (
    run INTEGER NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    event BLOB NOT NULL,
    UNIQUE (run, seq)
);";

/// Results of tasks that were taken in for the driver of a run.
const RESULTS: &str = "
CREATE TABLE IF NOT EXISTS results (
    run INTEGER NOT NULL REFERENCES runs (id),
    task TEXT NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (run, task)
) WITHOUT ROWID";

/// Moves progress into a table of its own with its sizes, and adds the columns of summaries.
const FROM_2: &str = "
CREATE TABLE progress (
    run INTEGER NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID;
ALTER TABLE runs ADD COLUMN progressed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN progress_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN summary TEXT;
INSERT INTO progress
    SELECT e.run, e.seq, coalesce(e.event, CAST(l.event AS TEXT)) AS event
    FROM events e LEFT JOIN large_events l ON l.run = e.run AND l.seq = e.seq
    WHERE substr(coalesce(e.event, CAST(substr(l.event, 1, 32) AS TEXT)), 1, 27) = '{\"v\":1,\"event\":\"progressed\"';
DELETE FROM large_events WHERE (run, seq) IN (SELECT run, seq FROM progress);
DELETE FROM events WHERE (run, seq) IN (SELECT run, seq FROM progress);
UPDATE runs SET progressed = p.pieces, progress_bytes = p.bytes
FROM (SELECT run, count(*) AS pieces, sum(length(CAST(event AS BLOB))) AS bytes FROM progress GROUP BY run) p
WHERE p.run = runs.id;";

/// Computes missing summaries. Runs whose events cannot be decoded get none.
fn sum_up(connection: &Connection) -> Result<(), rusqlite::Error> {
    let mut runs = connection.prepare("SELECT id, run FROM runs WHERE summary IS NULL")?;
    let runs = runs.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    for (id, run) in runs.collect::<Result<Vec<(i64, String)>, _>>()? {
        let rows = reads::without_progress(connection, id)?;
        if let Ok(entries) = rows::without_progress(&RunId::new(run), rows) {
            connection.execute(
                "UPDATE runs SET summary = ?2 WHERE id = ?1",
                (id, rows::json(&Summary::of(&entries))),
            )?;
        }
    }
    Ok(())
}

/// Adds the columns of lists to an older file, from the first event of each run and the last event of each run that
/// ended.
const FROM_1: &str = "
ALTER TABLE runs ADD COLUMN strategy TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN thread TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN started_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN state TEXT NOT NULL DEFAULT 'working';
CREATE INDEX runs_of_thread ON runs (owner, thread, id);
CREATE TEMP VIEW ends AS
    SELECT r.id, e.seq, coalesce(e.event, CAST(l.event AS TEXT)) AS event
    FROM main.runs r
    JOIN main.events e ON e.run = r.id AND e.seq IN (1, r.last)
    LEFT JOIN main.large_events l ON l.run = e.run AND l.seq = e.seq;
UPDATE runs SET
    strategy = coalesce(json_extract(event, '$.strategy'), ''),
    thread = coalesce(json_extract(event, '$.thread'), ''),
    started_ms = coalesce(json_extract(event, '$.at_ms'), 0)
FROM ends WHERE ends.id = runs.id AND ends.seq = 1 AND json_valid(event);
UPDATE runs SET state = 'failed' WHERE ended_ms IS NOT NULL;
UPDATE runs SET state = coalesce(json_extract(event, '$.outcome.state'), state)
FROM ends WHERE ends.id = runs.id AND ends.seq = runs.last AND runs.ended_ms IS NOT NULL AND json_valid(event);
DROP VIEW ends;";
