//! Why a log cannot be opened or read.

use std::{io, path::PathBuf};

use super::sqlite::{SCHEMA, Torn};

/// The log cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another hub has the folder.
    #[error("{} is in use by another hub; stop that one, or choose another folder with --data", .0.display())]
    Locked(PathBuf),
    /// The folder or a file in it cannot be used.
    #[error("cannot use {}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// SQLite refuses.
    #[error("cannot read {}", path.display())]
    Sqlite {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: rusqlite::Error,
    },
    /// A record is damaged or missing.
    #[error(
        "{} is damaged at position {position}: {reason}. Restore a backup; or keep what stands before it with `agenthub log export --until {}`",
        path.display(), position.saturating_sub(1)
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// The position of the first record that cannot be trusted.
        position: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Records that were acknowledged are not there.
    #[error(
        "{} ends at position {last}, but records up to {acknowledged} were acknowledged. If it is an older copy, and you want to go on without those records, remove {}; agents may get again what they have handled since. If not, its -wal file {}: put that back, or restore a newer backup",
        path.display(), marker.display(), damage(*torn)
    )]
    Lost {
        /// Which file.
        path: PathBuf,
        /// The last position in it.
        last: u64,
        /// The last position that was acknowledged.
        acknowledged: u64,
        /// The file that says so.
        marker: PathBuf,
        /// The end of the -wal file that cannot be read.
        torn: Option<Torn>,
    },
    /// The snapshot cannot be read, and what came before it is gone from the log.
    #[error("the snapshot in {} cannot be used: {reason}. Restore a backup", path.display())]
    Snapshot {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A page of the file is damaged, though every record can be read.
    #[error("{} is damaged: {reason}. Restore a backup; or make a sound copy with `agenthub log backup`", path.display())]
    Pages {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// A hub has removed records that were about to be read.
    #[error("{} was shortened while it was read: it begins at position {first} now. Read it again", path.display())]
    Shortened {
        /// Which file.
        path: PathBuf,
        /// The position from which on every record is there.
        first: u64,
    },
    /// There is no log.
    #[error("there is no log in {}; name the hub's data folder with --data", .0.display())]
    Missing(PathBuf),
    /// It was written by an earlier release, and no hub of this one has opened it yet.
    #[error("{} is of an earlier release: start the hub once, which upgrades it", .0.display())]
    Older(PathBuf),
    /// It was written by a later release.
    #[error("{} was written by a newer agenthub (schema {found}, this one knows {SCHEMA}): use that one", path.display())]
    Newer {
        /// Which file.
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
