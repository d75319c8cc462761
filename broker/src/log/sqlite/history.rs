//! Rereading of events from the database.

use std::{path::PathBuf, sync::Arc};

use rusqlite::params;

use super::{
    super::history::{History, PAGE, Page, event, gone},
    beside::beside,
    ended,
    read::Reader,
    row::{COLUMNS, RowRef},
};
use crate::{
    Error,
    log::{OpenError, Position, codec},
    sealed::Sealed,
};

/// Reader of a folder's log.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) folder: PathBuf,
}

impl History for Stored {
    fn page(&self, after: Position, upto: Position) -> Result<Page, Error> {
        let page = beside(&self.folder, |reader| {
            let oldest = oldest(reader);
            Ok(match after < oldest {
                true => Err(gone(reader.id, after, oldest)),
                false => Ok(read(reader, after, upto)?),
            })
        });
        page.unwrap_or_else(|error| Err(unreadable(&error)))
    }

    fn oldest(&self) -> Result<Position, Error> {
        let oldest = beside(&self.folder, |reader| Ok(oldest(reader)));
        oldest.map_err(|error| unreadable(&error))
    }

    fn at(&self, positions: &[Position]) -> Result<Vec<(Position, Arc<Sealed>)>, Error> {
        let found = beside(&self.folder, |reader| {
            let sql = format!("SELECT {COLUMNS} FROM events WHERE position = ?");
            let mut found = Vec::with_capacity(positions.len());
            let sqlite = |e: rusqlite::Error| reader.damaged(0, e.to_string());
            let mut statement = reader.connection().prepare(&sql).map_err(sqlite)?;
            for position in positions {
                let sqlite = |e: rusqlite::Error| reader.damaged(position.0, e.to_string());
                let damaged = |reason| reader.damaged(position.0, reason);
                let at = params![position.0.cast_signed()];
                let mut rows = statement.query(at).map_err(sqlite)?;
                if let Some(row) = rows.next().map_err(sqlite)? {
                    let row = RowRef::checked(row).map_err(damaged)?;
                    found.extend(event(row.record().map_err(damaged)?));
                }
            }
            Ok(found)
        });
        found.map_err(|error| unreadable(&error))
    }

    fn ended(&self, changes: &[u64]) -> Result<Vec<Vec<u8>>, Error> {
        let mut wanted = changes.to_vec();
        wanted.sort_unstable();
        let read = beside(&self.folder, |reader| {
            let mut found = Vec::new();
            let mut rest = &*wanted;
            while let Some(first) = rest.first() {
                let segment = ended::contents(reader.connection(), *first);
                let segment = segment.map_err(|reason| reader.bad_snapshot(reason))?;
                let last = segment.as_ref().map_or(0, |(last, _)| *last);
                rest = &rest[rest.partition_point(|c| *c <= last.max(*first))..];
                found.extend(segment.map(|(_, contents)| contents));
            }
            Ok(found)
        });
        read.map_err(|error| unreadable(&error))
    }
}

fn oldest(reader: &Reader<'_>) -> Position {
    Position(reader.first.0 - 1)
}

fn unreadable(error: &OpenError) -> Error {
    tracing::error!(%error, "the log cannot be reread");
    Error::Unavailable(format!("the hub's log cannot be read: {error}"))
}

fn read(reader: &Reader<'_>, after: Position, upto: Position) -> Result<Page, OpenError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events WHERE position > ? AND position <= ? AND kind = ? ORDER BY position LIMIT ?"
    );
    let sqlite = |e: rusqlite::Error| reader.damaged(after.0 + 1, e.to_string());
    let mut statement = reader.connection().prepare(&sql).map_err(sqlite)?;
    let limit = i64::try_from(PAGE.0).unwrap_or(i64::MAX);
    let (from, to) = (after.0.cast_signed(), upto.0.min(reader.last.0));
    let rows = params![from, to.cast_signed(), codec::PUBLISHED, limit];
    let mut rows = statement.query(rows).map_err(sqlite)?;
    let mut events = Vec::new();
    let mut bytes = 0;
    let mut last = after;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let damaged = |reason| reader.damaged(last.0 + 1, reason);
        let row = RowRef::checked(row).map_err(damaged)?;
        events.push(row.record().map_err(damaged)?);
        last = Position(row.position);
        bytes += row.bytes();
        if bytes >= PAGE.1 || events.len() == PAGE.0 {
            return Ok(Page { events, upto: last });
        }
    }
    Ok(Page { events, upto })
}
