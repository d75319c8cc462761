//! Reading the log of a folder beside the hub that may be writing it.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    super::OpenError,
    FILE, acknowledged, extent,
    read::{Reader, sqlite},
    schema, wal,
};

/// Time to wait for a hub that is starting or ending.
const BUSY: Duration = Duration::from_secs(5);

/// The log of a folder, readable while a hub writes.
pub(crate) struct Beside {
    connection: Connection,
    path: PathBuf,
    marker: PathBuf,
    /// The acknowledged position before anything was read, so that a hub that writes meanwhile is not ahead of it.
    acknowledged: u64,
}

impl Beside {
    /// Opens the log of a folder.
    ///
    /// # Errors
    ///
    /// [`OpenError`], also if there is none.
    pub(crate) fn open(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Err(OpenError::Missing(folder.to_owned()));
        }
        let marker = folder.join(acknowledged::FILE);
        let connection = open(&path)?;
        let (id, _) = extent::read(&connection, &path)?;
        Ok(Self {
            acknowledged: acknowledged::noted(&marker, id),
            connection,
            path,
            marker,
        })
    }

    pub(super) fn damaged(&self, position: u64, reason: String) -> OpenError {
        OpenError::Damaged {
            path: self.path.clone(),
            position,
            reason,
        }
    }

    /// Reads in one transaction. Until this returns, the hub cannot truncate its write-ahead log.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        as_of_now(&self.connection, &self.path, |reader| {
            let last = reader.last.0;
            if self.acknowledged > last {
                return Err(OpenError::Lost {
                    torn: wal::torn(&self.path),
                    path: self.path.clone(),
                    last,
                    acknowledged: self.acknowledged,
                    marker: self.marker.clone(),
                });
            }
            read(reader)
        })
    }
}

/// Reads the log of a folder in one transaction, while a hub may be writing.
///
/// # Errors
///
/// [`OpenError`], also if there is none.
pub(crate) fn beside<T>(
    folder: &Path,
    read: impl FnOnce(&Reader<'_>) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    Beside::open(folder)?.read(read)
}

fn as_of_now<T>(
    connection: &Connection,
    path: &Path,
    read: impl FnOnce(&Reader<'_>) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let moment = connection.unchecked_transaction();
    let moment = moment.map_err(|e| sqlite(path, e))?;
    read(&Reader::new(&moment, path)?)
}

/// Copies a log into a new file, and reads that. Damaged free pages are not copied.
///
/// # Errors
///
/// [`OpenError`], also if the file cannot be created.
pub(crate) fn copy<T>(
    folder: &Path,
    to: &Path,
    read: impl FnOnce(&Reader<'_>) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let path = folder.join(FILE);
    beside(folder, |_| Ok(()))?;
    let from = open(&path)?;
    let copied = from.execute("VACUUM INTO ?", [&*to.to_string_lossy()]);
    copied.map_err(|e| sqlite(&path, e))?;
    let synced = File::open(to).and_then(|file| file.sync_all());
    synced.map_err(|source| OpenError::Folder {
        path: to.to_owned(),
        source,
    })?;
    as_of_now(&open(to)?, to, read)
}

fn open(path: &Path) -> Result<Connection, OpenError> {
    // The connection has a single user, so that it needs no mutex.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags);
    let connection = connection.map_err(|e| sqlite(path, e))?;
    connection.busy_timeout(BUSY).map_err(|e| sqlite(path, e))?;
    match schema::check(&connection, path)? < schema::SCHEMA {
        true => Err(OpenError::Older(path.to_owned())),
        false => Ok(connection),
    }
}
