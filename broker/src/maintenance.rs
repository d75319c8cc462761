//! Operator commands for the log in a data folder: verify, export, compact, back up. All but [`compact`] work beside a
//! running hub.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    OpenError, Settings,
    log::{
        Beside, Options, Pages, Position, Reader, SqliteLog, Unfinished, beside, copy, is_in_use,
        replay, to_json, torn,
    },
    snapshot::{Folding, Moment},
    upkeep,
};

pub use crate::log::Torn;

/// The log's file in a data folder.
pub const FILE: &str = crate::log::FILE;

/// Report on a valid log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// First position of the complete part of the log.
    pub first: u64,
    /// Position of the last record.
    pub last: u64,
    /// Number of older records that mailboxes still need.
    pub kept: u64,
    /// Position of the snapshot that covers removed records.
    pub snapshot: Option<u64>,
    /// Used bytes.
    pub bytes: u64,
    /// The unfinished end of the write-ahead log, which was not acknowledged: a starting hub drops it.
    pub torn: Option<Torn>,
}

/// Result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// The snapshot includes all records up to here.
    pub snapshot: u64,
    /// Number of removed records.
    pub removed: u64,
    /// Used bytes, before and after.
    pub bytes: (u64, u64),
}

/// Errors of these commands.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log cannot be opened or read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The output cannot be written.
    #[error("cannot write what was read")]
    Write(#[from] io::Error),
    /// The file exists already.
    #[error("there is a file {} already; choose another name", .0.display())]
    Exists(PathBuf),
    /// The compaction was not finished.
    #[error("the log could not be made shorter, and is as good as before")]
    Unfinished(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Reads every record, the snapshot and every page of the file.
///
/// # Errors
///
/// [`OpenError`] with the first damage, its position and the remedy.
pub fn verify(folder: &Path) -> Result<Report, OpenError> {
    // A running hub is about to finish the end.
    let torn = match is_in_use(folder) {
        true => None,
        false => torn(&folder.join(FILE)),
    };
    beside(folder, |reader| {
        let settings = Settings::default();
        let sparse = reader.sparse(Position(0), usize::MAX)?;
        for position in &sparse {
            reader.record(*position)?;
        }
        reader.records(reader.first, |_| Ok(true))?;
        let mut folding = Folding::new(&settings, Moment::now()).without_bodies();
        replay(reader, |found| folding.take(found))?;
        reader.check_ended()?;
        reader.check_pages()?;
        let report = report(reader)?;
        Ok(Report { torn, ..report })
    })
}

fn report(reader: &Reader<'_>) -> Result<Report, OpenError> {
    let snapshot = reader.snapshot()?;
    Ok(Report {
        first: reader.first.0,
        last: reader.last.0,
        kept: reader.sparse(Position(0), usize::MAX)?.len() as u64,
        snapshot: snapshot.map(|head| head.position.0),
        bytes: reader.bytes()?,
        torn: None,
    })
}

/// Passes the records after a position, up to and including another one, to `each` as JSON objects. Stops at the first
/// damage, after everything before it. Does not block a running hub, however long it takes.
///
/// # Errors
///
/// [`Error`], including that of `each`.
pub fn export(
    folder: &Path,
    after: u64,
    until: Option<u64>,
    mut each: impl FnMut(Value) -> io::Result<()>,
) -> Result<(), Error> {
    let until = Position(until.unwrap_or(u64::MAX));
    let mut pages = Pages::new(Beside::open(folder)?, Position(after), until)?;
    while let Some(page) = pages.next()? {
        for record in &page.records {
            each(to_json(record))?;
        }
        if let Some(damage) = page.damage {
            return Err(damage.into());
        }
    }
    Ok(())
}

/// Takes a snapshot, removes old records beyond the settings that no mailbox needs, and shrinks the file.
///
/// # Errors
///
/// [`OpenError::Locked`] while a hub uses the folder.
pub fn compact(folder: &Path, settings: &Settings) -> Result<Compaction, Error> {
    if !folder.join(FILE).is_file() {
        return Err(OpenError::Missing(folder.to_owned()).into());
    }
    // Locks the folder, and detects damage. The state is read once more below.
    let log = SqliteLog::open(folder, &Options::default(), |_| Ok(()))?;
    let upkeep = log.upkeep();
    let unfinished = |e: Unfinished| Error::Unfinished(Box::new(e));
    let bytes = || upkeep.read(|reader| reader.bytes());
    let before = bytes()?;
    let done = upkeep::keep(&upkeep, settings, None, &|| false).map_err(unfinished)?;
    upkeep.shrink().map_err(unfinished)?;
    Ok(Compaction {
        snapshot: done.snapshot.0,
        removed: done.removed,
        bytes: (before, bytes()?),
    })
}

/// Copies the log in one transaction into a file. Under the name [`FILE`], it is the log of another folder.
///
/// # Errors
///
/// [`Error::Exists`] if the file exists; else errors of reading or writing.
pub fn backup(folder: &Path, to: &Path) -> Result<Report, Error> {
    if to.exists() {
        return Err(Error::Exists(to.to_owned()));
    }
    Ok(copy(folder, to, report)?)
}
