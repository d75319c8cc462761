//! The file and its tables.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode};

/// Marks a file as a journal of runs: "AHRJ".
const APPLICATION: i64 = 0x4148_524a;

/// Changes when the tables do.
pub(super) const SCHEMA: i64 = 1;

/// How long another process may keep the file locked before a call fails.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a file cannot be used as a journal.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its folder cannot be used.
    #[error("cannot use the folder {}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another process has kept it locked for 5 s.
    #[error("{} is locked by another process: stop that one, or name another file", .0.display())]
    Locked(PathBuf),
    /// It is no SQLite file, or a damaged one.
    #[error("{} is damaged, or no journal of runs: restore a copy, or move it away to begin with an empty one", .0.display())]
    Damaged(PathBuf),
    /// It holds something else.
    #[error("{} is the database of something else: name another file", .0.display())]
    Foreign(PathBuf),
    /// A later release wrote it.
    #[error("{} was written by a later release (schema {found}, this one knows {SCHEMA}): use that one", path.display())]
    Later {
        /// Which file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// SQLite refuses.
    #[error("cannot use {}", path.display())]
    Sqlite {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: rusqlite::Error,
    },
}

/// Makes the file where there is none, and its tables. What was made survives a power cut.
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
    let real = folder.canonicalize().map_err(problem)?;
    for folder in real.ancestors().take(2) {
        File::open(folder)
            .and_then(|f| f.sync_all())
            .map_err(problem)?;
    }
    Ok(connection)
}

/// Makes folders that only their owner can look into, for what was said is in the files.
fn private_folder() -> DirBuilder {
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder
}

/// Makes the file, where it is missing, so that only its owner can read it. SQLite gives those that it puts beside it the same mode. One
/// that is there is not opened: closing it would end the locks that SQLite has on it in this process.
fn make_private(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new();
    file.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    match file.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Another connection to a file that is prepared.
pub(super) fn connect(path: &Path) -> Result<Connection, OpenError> {
    let configured = Connection::open(path).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    });
    configured.map_err(|error| refused(path, error))
}

fn make_tables(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let refused = |error| refused(path, error);
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .map_err(refused)?;
    let found: i64 = number("user_version").map_err(refused)?;
    let application: i64 = number("application_id").map_err(refused)?;
    let is_empty = connection
        .query_row("SELECT count(*) = 0 FROM sqlite_master", [], |row| {
            row.get(0)
        })
        .map_err(refused)?;
    match (application, found) {
        (0, 0) if is_empty => connection
            .execute_batch(TABLES)
            .and_then(|()| connection.pragma_update(None, "application_id", APPLICATION))
            .and_then(|()| connection.pragma_update(None, "user_version", SCHEMA))
            .map_err(refused)?,
        (APPLICATION, found) if found > SCHEMA => {
            let path = path.to_owned();
            return Err(OpenError::Later { path, found });
        }
        (APPLICATION, _) => {}
        _ => return Err(OpenError::Foreign(path.to_owned())),
    }
    connection.execute_batch("COMMIT").map_err(refused)
}

fn refused(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked(path),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => OpenError::Damaged(path),
        _ => OpenError::Sqlite { path, source },
    }
}

/// An event is text where it is small, so that a journal can be read with any SQLite; a large one is in a table of its own, which
/// keeps the pages of the others together.
const TABLES: &str = "
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
