//! What an operator does with the log in a data folder: verify it, read it out, make it shorter, back it up. All but
//! [`compact`] work beside a running hub.

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

/// A log that is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The position from which on every record is there.
    pub first: u64,
    /// The position of the last record.
    pub last: u64,
    /// Records from before the first that mailboxes still need.
    pub kept: u64,
    /// Where the snapshot was taken that stands for what is gone.
    pub snapshot: Option<u64>,
    /// Bytes in use.
    pub bytes: u64,
    /// The end of the write-ahead log that was never finished: a hub that starts drops it. It was not acknowledged.
    pub torn: Option<Torn>,
}

/// A log that was made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Everything up to here is in the snapshot.
    pub snapshot: u64,
    /// Records that went.
    pub removed: u64,
    /// Bytes in use, before and after.
    pub bytes: (u64, u64),
}

/// Something could not be done with a log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be opened or read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// What was read out could not be handed on.
    #[error("cannot write what was read")]
    Write(#[from] io::Error),
    /// There is a file already.
    #[error("there is a file {} already; choose another name", .0.display())]
    Exists(PathBuf),
    /// It was not made shorter.
    #[error("the log could not be made shorter, and is as good as before")]
    Unfinished(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Reads every record, the snapshot and every page of the file.
///
/// # Errors
///
/// [`OpenError`] names the first damage, with its position and what to do.
pub fn verify(folder: &Path) -> Result<Report, OpenError> {
    // A hub at work is about to finish the end.
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

/// Hands over the records after a position up to and including another one, as JSON objects. Stops at the first damage, with
/// everything before it handed over. A running hub is not held up, however long that takes.
///
/// # Errors
///
/// [`Error`], also the one that `each` gives.
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

/// Takes a snapshot, removes what is older or more than the settings keep and no mailbox needs, and makes the file smaller.
///
/// # Errors
///
/// [`OpenError::Locked`] while a hub uses the folder.
pub fn compact(folder: &Path, settings: &Settings) -> Result<Compacted, Error> {
    if !folder.join(FILE).is_file() {
        return Err(OpenError::Missing(folder.to_owned()).into());
    }
    // What there is to know is read once more below; this one takes the folder, and finds damage.
    let log = SqliteLog::open(folder, &Options::default(), |_| Ok(()))?;
    let upkeep = log.upkeep();
    let unfinished = |e: Unfinished| Error::Unfinished(Box::new(e));
    let bytes = || upkeep.read(|reader| reader.bytes());
    let before = bytes()?;
    let done = upkeep::keep(&upkeep, settings, None, &|| false).map_err(unfinished)?;
    upkeep.shrink().map_err(unfinished)?;
    Ok(Compacted {
        snapshot: done.snapshot.0,
        removed: done.removed,
        bytes: (before, bytes()?),
    })
}

/// Copies the log as of one moment into a file. Put there under the name [`FILE`], it is the log of another folder.
///
/// # Errors
///
/// [`Error::Exists`] if there is such a file; else what cannot be read or written.
pub fn backup(folder: &Path, to: &Path) -> Result<Report, Error> {
    if to.exists() {
        return Err(Error::Exists(to.to_owned()));
    }
    Ok(copy(folder, to, report)?)
}
