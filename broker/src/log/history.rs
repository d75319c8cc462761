//! Rereading of a log during writes.

use std::{fmt, sync::Arc};

use super::{Entry, LogId, Position, Record};
use crate::{Error, sealed::Sealed};

/// Reads the events of a log, page by page, independently of its writer. Reading may block on the disk: call it neither
/// under a lock nor on a thread of the async runtime.
pub(crate) trait History: fmt::Debug + Send + Sync {
    /// Events after a position up to another one, oldest first, as many as fit into one page. Reads durable records
    /// only.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] with the oldest available position if events in between are gone; [`Error::Unavailable`]
    /// if the log cannot be read.
    fn page(&self, after: Position, upto: Position) -> Result<Page, Error>;

    /// The first position after which all events exist.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log cannot be read.
    fn oldest(&self) -> Result<Position, Error>;

    /// The events at these positions, in any order. Missing ones are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log cannot be read.
    fn at(&self, positions: &[Position]) -> Result<Vec<(Position, Arc<Sealed>)>, Error>;

    /// Parts of segments with the contents of ended tasks, by the numbers of their last changes. Missing ones are left
    /// out.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log cannot be read.
    fn ended(&self, changes: &[u64]) -> Result<Vec<Vec<u8>>, Error>;
}

/// The event of a record, if it has one.
pub(super) fn event(record: Record) -> Option<(Position, Arc<Sealed>)> {
    match record.entry {
        Entry::Published(published) => Some((record.position, published.event)),
        _ => None,
    }
}

/// A page of events.
#[derive(Debug, PartialEq)]
pub(crate) struct Page {
    pub(crate) events: Vec<Record>,
    /// The page contains all events up to here.
    pub(crate) upto: Position,
}

/// Maximum events of a page, and their bytes, unless one alone is larger.
pub(super) const PAGE: (usize, usize) = (1000, 1024 * 1024);

/// The error for missing events; `oldest` is the first position after which all events exist.
pub(super) fn gone(id: LogId, after: Position, oldest: Position) -> Error {
    Error::OutOfRange(format!(
        "the log no longer holds what came after {}; the oldest position that can be reread is {}",
        id.token(after),
        id.token(oldest),
    ))
}
