//! Folder and tables.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use agenthub_proto::private;
use rusqlite::{Connection, OpenFlags};

use super::{ended, extent, seen};
use crate::log::{LogId, OpenError};

/// Locked while a hub uses the folder.
const LOCK: &str = "hub.lock";
/// Version of the tables.
pub(crate) const SCHEMA: i64 = 4;

/// Locks a folder while the file lives; creates a missing one.
pub(super) fn lock(folder: &Path) -> Result<File, OpenError> {
    let problem = |source| OpenError::Folder {
        path: folder.to_owned(),
        source,
    };
    if folder.is_file() {
        let why = "it is a file; name a folder, or nothing that exists";
        return Err(problem(io::Error::new(io::ErrorKind::NotADirectory, why)));
    }
    fs::create_dir_all(folder).map_err(problem)?;
    // A folder survives a power cut once its parent is synced.
    let real = folder.canonicalize().map_err(problem)?;
    for folder in real.ancestors().take(2) {
        File::open(folder)
            .and_then(|f| f.sync_all())
            .map_err(problem)?;
    }
    let file = File::create(folder.join(LOCK)).map_err(problem)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(OpenError::Locked(folder.to_owned())),
        Err(fs::TryLockError::Error(source)) => Err(problem(source)),
    }
}

/// True if a hub uses a folder. A hub that starts at this moment may find the folder locked.
pub(crate) fn is_in_use(folder: &Path) -> bool {
    let file = File::open(folder.join(LOCK));
    file.is_ok_and(|f| matches!(f.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// Creates the database if missing; SQLite gives the files beside it the same mode. Those that another hub has left lose other users' permissions.
fn make_private(path: &Path) -> Result<(), OpenError> {
    let beside = ["-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    });
    let left = beside.into_iter().filter(|path| path.exists());
    for path in left.chain([path.to_owned()]) {
        if let Err(source) = private::append(&path) {
            return Err(OpenError::Folder { path, source });
        }
    }
    Ok(())
}

/// Opens the database for writing.
pub(super) fn open(path: &Path, vfs: Option<&str>) -> Result<Connection, OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let flags = OpenFlags::default();
    let connection = match vfs {
        None => {
            make_private(path)?;
            Connection::open_with_flags(path, flags)
        }
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs),
    };
    let connection = connection.map_err(sqlite)?;
    configure(&connection).map_err(sqlite)?;
    Ok(connection)
}

/// Page size of new databases. Larger pages make fewer writes of a large batch, but larger ones of a small batch.
const PAGE: i64 = 8192;

/// Size of the write-ahead log after a restart of the log. It grows beyond while a reader is active.
pub(super) const JOURNAL_BYTES: i64 = 32 * 1024 * 1024;

fn configure(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "page_size", PAGE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Commits are synced by the log itself, checkpoints by SQLite.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "locking_mode", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_BYTES)?;
    connection.set_prepared_statement_cache_capacity(8);
    Ok(())
}

/// Checks that this release can read the tables. Returns their version; 0 for none.
///
/// # Errors
///
/// [`OpenError::Newer`] if it cannot.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<i64, OpenError> {
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |r| r.get(0))
        .map_err(|source| OpenError::Sqlite {
            path: path.to_owned(),
            source,
        })?;
    match found > SCHEMA {
        true => Err(OpenError::Newer {
            path: path.to_owned(),
            found,
        }),
        false => Ok(found),
    }
}

/// Creates missing tables, and migrates those of earlier releases.
pub(super) fn prepare(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let steps = match check(connection, path)? {
        0 => format!(
            "{}{EVENTS}{SNAPSHOTS}{}{}",
            extent::create(LogId::random()),
            ended::TABLE,
            seen::TABLE
        ),
        1 => format!("{SNAPSHOTS}{}{}", ended::TABLE, seen::TABLE),
        2 => format!("{}{}", ended::TABLE, seen::TABLE),
        3 => seen::TABLE.to_owned(),
        _ => return Ok(()),
    };
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let transaction = connection.unchecked_transaction().map_err(sqlite)?;
    transaction
        .execute_batch(&steps)
        .and_then(|()| extent::upgrade(&transaction))
        .and_then(|()| transaction.pragma_update(None, "user_version", SCHEMA))
        .and_then(|()| transaction.commit())
        .map_err(sqlite)
}

const EVENTS: &str = "CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    time_us INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    order_key TEXT NOT NULL,
    principal TEXT NOT NULL,
    payload BLOB NOT NULL,
    sum INTEGER NOT NULL
);";

/// Since schema 2.
const SNAPSHOTS: &str = "CREATE TABLE snapshots (
    position INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    sum INTEGER NOT NULL
);
CREATE TABLE parts (
    snapshot INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    payload BLOB NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (snapshot, number)
);";

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn nobody_else_may_read_a_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log.db");
        let files = ["log.db", "log.db-wal", "log.db-shm"].map(|name| folder.path().join(name));
        let mode = |path: &PathBuf| {
            let metadata = fs::metadata(path).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        let written = || {
            let connection = open(&path, None).expect("it opens");
            let table = "CREATE TABLE IF NOT EXISTS t (v)";
            connection.execute_batch(table).expect("it is written");
            connection
        };
        let connection = written();
        assert_eq!(files.each_ref().map(&mode), [0o600; 3]);
        // As a hub leaves them that is killed, here one to which they were open to all.
        let left: Vec<Vec<u8>> = files
            .iter()
            .map(|file| fs::read(file).expect("ours"))
            .collect();
        drop(connection);
        for (file, bytes) in files.iter().zip(left) {
            fs::write(file, bytes).expect("it is ours");
            let permissions = fs::Permissions::from_mode(0o644);
            fs::set_permissions(file, permissions).expect("it is ours");
        }
        let _connection = written();
        assert_eq!(files.each_ref().map(&mode), [0o600; 3]);
    }
}
