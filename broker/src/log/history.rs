//! Rereading a log while it goes on.

use std::{fmt, sync::Arc};

use super::{Entry, LogId, Position, Record};
use crate::{Error, sealed::Sealed};

/// Reads the events that a log still has, page by page, apart from who writes it. Reading may wait for a disk: not under a lock, and
/// not on a thread that serves others.
pub(crate) trait History: fmt::Debug + Send + Sync {
    /// The events right after a position, oldest first, up to another one, as many as fit into one page. Only what is safe is looked
    /// for.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if events in between are gone, with the oldest position that there is; [`Error::Unavailable`] if the
    /// log cannot be read.
    fn page(&self, after: Position, upto: Position) -> Result<Page, Error>;

    /// The events at these positions, in any order. Those that are gone are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log cannot be read.
    fn at(&self, positions: &[Position]) -> Result<Vec<(Position, Arc<Sealed>)>, Error>;

    /// The parts of segments in which the contents of ended tasks are that the log has apart from their events, by the numbers of their last
    /// changes. Those that are gone are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log cannot be read.
    fn ended(&self, changes: &[u64]) -> Result<Vec<Vec<u8>>, Error>;
}

/// The event that a record is of, if it is of one.
pub(super) fn event(record: Record) -> Option<(Position, Arc<Sealed>)> {
    match record.entry {
        Entry::Published(published) => Some((record.position, published.event)),
        _ => None,
    }
}

/// Some events of a log.
#[derive(Debug, PartialEq)]
pub(crate) struct Page {
    pub(crate) events: Vec<Record>,
    /// There are no others up to here.
    pub(crate) upto: Position,
}

/// Events of one page, and their bytes, unless one alone is larger.
pub(super) const PAGE: (usize, usize) = (1000, 1024 * 1024);

/// That events are gone; `oldest` is the first position after which nothing is.
pub(super) fn gone(id: LogId, after: Position, oldest: Position) -> Error {
    Error::OutOfRange(format!(
        "the log no longer holds what came after {}; the oldest position that can be reread is {}",
        id.token(after),
        id.token(oldest),
    ))
}
