//! Errors of opening and reading a log.

use std::{io, path::PathBuf};

use super::sqlite::{SCHEMA, Torn};

/// Reasons why the log cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another hub uses the folder.
    #[error("{} is in use by another hub; stop that one, or choose another folder with --data", .0.display())]
    Locked(PathBuf),
    /// The folder or a file in it cannot be used.
    #[error("cannot use {}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// SQLite error.
    #[error("cannot read {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: rusqlite::Error,
    },
    /// A record is damaged or missing.
    #[error(
        "{} is damaged at position {position}: {reason}. Restore a backup; or keep what stands before it with `agenthub log export --until {}`",
        path.display(), position.saturating_sub(1)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Position of the first record that cannot be trusted.
        position: u64,
        /// The damage.
        reason: String,
    },
    /// Acknowledged records are missing.
    #[error(
        "{} ends at position {last}, but records up to {acknowledged} were acknowledged. If it is an older copy, and you want to go on without those records, remove {}; agents may get again what they have handled since. If not, its -wal file {}: put that back, or restore a newer backup",
        path.display(), marker.display(), damage(*torn)
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// Its last position.
        last: u64,
        /// The last acknowledged position.
        acknowledged: u64,
        /// The file with that position.
        marker: PathBuf,
        /// The unreadable end of the -wal file.
        torn: Option<Torn>,
    },
    /// The snapshot cannot be read, and the log no longer has the records before it.
    #[error("the snapshot in {} cannot be used: {reason}. Restore a backup", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// A page of the file is damaged, though every record can be read.
    #[error("{} is damaged: {reason}. Restore a backup; or make a sound copy with `agenthub log backup`", path.display())]
    Pages {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        reason: String,
    },
    /// A hub removed records before they could be read.
    #[error("{} was shortened while it was read: it begins at position {first} now. Read it again", path.display())]
    Shortened {
        /// The file.
        path: PathBuf,
        /// The position from which on every record exists.
        first: u64,
    },
    /// No log exists.
    #[error("there is no log in {}; name the hub's data folder with --data", .0.display())]
    Missing(PathBuf),
    /// Written by an earlier release, and not yet opened by a hub of this one.
    #[error("{} is of an earlier release: start the hub once, which upgrades it", .0.display())]
    Older(PathBuf),
    /// Written by a later release.
    #[error("{} was written by a newer agenthub (schema {found}, this one knows {SCHEMA}): use that one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
}

fn damage(torn: Option<Torn>) -> String {
    match torn {
        Some(torn) => format!("is damaged from byte {} on", torn.offset),
        None => "was removed or cut short".to_owned(),
    }
}
