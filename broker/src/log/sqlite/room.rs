//! Detection of writes that failed for lack of space.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use rusqlite::{ErrorCode, ffi};

/// Tries to write into a folder.
pub(crate) type Probe = fn(&Path) -> io::Result<()>;

/// Distinguishes a full disk from a failing one.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub(super) folder: PathBuf,
    pub(super) probe: Probe,
}

impl Room {
    /// True if there is no space: for a file, for the index of the write-ahead log, or in a quota, which SQLite reports
    /// as a disk error.
    pub(super) fn is_lacking(&self, error: &rusqlite::Error) -> bool {
        let Some(error) = error.sqlite_error() else {
            return false;
        };
        match (error.code, error.extended_code) {
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => true,
            (_, ffi::SQLITE_IOERR_WRITE) => {
                (self.probe)(&self.folder).is_err_and(|e| is_no_room(&e))
            }
            _ => false,
        }
    }
}

fn is_no_room(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), QuotaExceeded | StorageFull)
}

/// Writes and deletes a small file.
pub(super) fn probe(folder: &Path) -> io::Result<()> {
    const BYTES: usize = 64 * 1024;
    let path = folder.join("probe");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&[0; BYTES])?;
        file.sync_all()
    });
    let removed = fs::remove_file(&path);
    written.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    fn is_lacking(code: i32, probe: Probe) -> bool {
        let folder = tempfile::tempdir().expect("a folder");
        let room = Room {
            folder: folder.path().to_owned(),
            probe,
        };
        room.is_lacking(&failed(code))
    }

    /// promise 11
    #[test]
    fn a_quota_that_is_used_up_is_a_full_disk_and_a_failing_disk_is_not() {
        let quota: Probe = |_| Err(io::ErrorKind::QuotaExceeded.into());
        let broken: Probe = |_| Err(io::Error::other("broken"));
        assert!(is_lacking(ffi::SQLITE_FULL, probe));
        assert!(is_lacking(ffi::SQLITE_IOERR_WRITE, quota));
        assert!(!is_lacking(ffi::SQLITE_IOERR_WRITE, probe));
        assert!(!is_lacking(ffi::SQLITE_IOERR_WRITE, broken));
        assert!(!is_lacking(ffi::SQLITE_IOERR_FSYNC, quota));
    }
}
