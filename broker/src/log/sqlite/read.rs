//! Reading: every record and every snapshot is checked; damage is reported, never skipped.

use std::{collections::BTreeSet, path::Path};

use rusqlite::{Connection, OptionalExtension};

use super::{
    super::{LogId, OpenError, Position, Record},
    ended, extent,
    row::{COLUMNS, RowRef},
    seen,
    snapshot::{self, Head, Part},
};

/// Parts of a log, in the order in which they are read.
#[derive(Debug)]
pub(crate) enum LogPart<'a> {
    /// A record that a part of the snapshot refers to.
    Kept(&'a Record),
    /// A part of the snapshot.
    Part(&'a [u8]),
    /// Ended tasks in segments, without their contents.
    Ended(&'a [u8]),
    /// Deduplicated publishes at the time of the snapshot.
    Seen(&'a [u8]),
    /// A record after the snapshot.
    Record(&'a Record),
}

/// Reader of a database.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    connection: &'a Connection,
    path: &'a Path,
    /// Id of the log.
    pub(crate) id: LogId,
    /// First position of the complete part of the log.
    pub(crate) first: Position,
    /// Position of the last record; the one before the first if there is none.
    pub(crate) last: Position,
}

impl<'a> Reader<'a> {
    /// Reads the log's id and range.
    pub(super) fn new(connection: &'a Connection, path: &'a Path) -> Result<Self, OpenError> {
        let (id, extent) = extent::read(connection, path)?;
        let (first, last) = (Position(*extent.start()), Position(*extent.end()));
        Ok(Self {
            connection,
            path,
            id,
            first,
            last,
        })
    }

    pub(super) fn connection(&self) -> &Connection {
        self.connection
    }

    /// Used bytes.
    pub(crate) fn bytes(&self) -> Result<u64, OpenError> {
        let number = |name: &str| {
            let value = self
                .connection
                .pragma_query_value(None, name, |r| r.get::<_, i64>(0));
            value
                .map(i64::cast_unsigned)
                .map_err(|source| self.sqlite(source))
        };
        let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
        Ok(pages * number("page_size")?)
    }

    /// Position of the snapshot, unchecked; 0 if there is none.
    pub(crate) fn snapshot_position(&self) -> Result<Position, OpenError> {
        let position =
            self.connection
                .query_row("SELECT ifnull(max(position), 0) FROM snapshots", [], |r| {
                    r.get::<_, i64>(0)
                });
        let position = position.map_err(|e| self.sqlite(e))?;
        Ok(Position(position.cast_unsigned()))
    }

    /// The snapshot that a hub would start from, checked; `None` if the whole log is read.
    ///
    /// # Errors
    ///
    /// [`OpenError::Snapshot`] if it cannot be read and the log does not go back to its beginning.
    pub(crate) fn snapshot(&self) -> Result<Option<Head>, OpenError> {
        match snapshot::check(self.connection) {
            Ok(head) => Ok(head),
            Err(reason) if self.first == Position(1) => {
                tracing::warn!(%reason, "the snapshot is not used; the whole log is read instead");
                Ok(None)
            }
            Err(reason) => Err(OpenError::Snapshot {
                path: self.path.to_owned(),
                reason,
            }),
        }
    }

    /// Checks the pages of the file.
    ///
    /// # Errors
    ///
    /// [`OpenError::Pages`] with the first problem.
    pub(crate) fn check_pages(&self) -> Result<(), OpenError> {
        let pages = |reason: String| OpenError::Pages {
            path: self.path.to_owned(),
            reason,
        };
        let said = self
            .connection
            .query_row("PRAGMA integrity_check(1)", [], |r| r.get::<_, String>(0));
        match said.map_err(|e| pages(e.to_string()))? {
            ok if ok == "ok" => Ok(()),
            reason => Err(pages(reason.replace('\n', " "))),
        }
    }

    /// Positions that a snapshot refers to.
    ///
    /// # Errors
    ///
    /// [`OpenError::Sqlite`] if they cannot be read.
    pub(crate) fn kept(&self, head: &Head) -> Result<BTreeSet<Position>, OpenError> {
        let mut kept = BTreeSet::new();
        snapshot::each(self.connection, head, Part::Kept, |payload| {
            kept.extend(snapshot::positions(payload));
            Ok(())
        })?;
        Ok(kept)
    }

    /// Passes a snapshot to `each`: first the records that it refers to, then its parts.
    ///
    /// # Errors
    ///
    /// [`OpenError`] for damage, and for errors of `each`.
    pub(crate) fn parts(
        &self,
        head: &Head,
        mut each: impl FnMut(LogPart<'_>) -> Result<(), String>,
    ) -> Result<(), OpenError> {
        let problem = |reason| OpenError::Snapshot {
            path: self.path.to_owned(),
            reason,
        };
        for part in [Part::Kept, Part::State] {
            snapshot::each(self.connection, head, part, |payload| {
                if part == Part::State {
                    return each(LogPart::Part(payload)).map_err(problem);
                }
                for position in snapshot::positions(payload) {
                    let record = self.record(position)?;
                    each(LogPart::Kept(&record)).map_err(problem)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Passes the segments of ended tasks to `each`, without their contents, including those that no snapshot covers.
    ///
    /// # Errors
    ///
    /// [`OpenError::Snapshot`] for damage, and for errors of `each`.
    pub(crate) fn ended(
        &self,
        each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), OpenError> {
        ended::heads(self.connection, each).map_err(|reason| self.bad_snapshot(reason))
    }

    /// Passes the deduplicated publishes of a snapshot to `each`.
    ///
    /// # Errors
    ///
    /// [`OpenError::Snapshot`] for damage, and for errors of `each`.
    pub(super) fn seen(
        &self,
        snapshot: Position,
        each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), OpenError> {
        seen::each(self.connection, snapshot.0, each).map_err(|reason| self.bad_snapshot(reason))
    }

    /// Extents of the segments of ended tasks.
    pub(super) fn ended_extents(&self) -> Result<Vec<ended::Extent>, OpenError> {
        ended::extents(self.connection).map_err(|e| self.sqlite(e))
    }

    /// Checks the segments of ended tasks, contents included.
    ///
    /// # Errors
    ///
    /// [`OpenError::Snapshot`] for damage.
    pub(crate) fn check_ended(&self) -> Result<(), OpenError> {
        ended::check(self.connection).map_err(|reason| self.bad_snapshot(reason))
    }

    pub(super) fn bad_snapshot(&self, reason: String) -> OpenError {
        OpenError::Snapshot {
            path: self.path.to_owned(),
            reason,
        }
    }

    /// The record at a position.
    pub(crate) fn record(&self, position: Position) -> Result<Record, OpenError> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE position = ?");
        let mut statement = self
            .connection
            .prepare_cached(&sql)
            .map_err(|e| self.sqlite(e))?;
        let found = statement
            .query_row([position.0.cast_signed()], |row| {
                Ok(RowRef::checked(row).and_then(|r| r.record()))
            })
            .optional()
            .map_err(|e| self.damaged(position.0, e.to_string()))?;
        found
            .unwrap_or_else(|| Err("the record is missing".to_owned()))
            .map_err(|reason| self.damaged(position.0, reason))
    }

    /// Reads and checks all records from a position on, oldest first, until `each` returns false.
    ///
    /// # Errors
    ///
    /// [`OpenError::Damaged`] with the first record that is damaged or missing.
    pub(crate) fn records(
        &self,
        from: Position,
        mut each: impl FnMut(Record) -> Result<bool, OpenError>,
    ) -> Result<(), OpenError> {
        self.rows(from, |row| {
            let record = row.record();
            each(record.map_err(|reason| self.damaged(row.position, reason))?)
        })
    }

    /// The same for undecoded rows.
    pub(super) fn rows(
        &self,
        from: Position,
        mut each: impl FnMut(&RowRef<'_>) -> Result<bool, OpenError>,
    ) -> Result<(), OpenError> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE position >= ? ORDER BY position");
        let mut statement = self.connection.prepare(&sql).map_err(|e| self.sqlite(e))?;
        let rows = statement.query([from.0.cast_signed()]);
        let mut rows = rows.map_err(|e| self.damaged(from.0, e.to_string()))?;
        let mut expected = from.0;
        loop {
            let next = rows
                .next()
                .map_err(|e| self.damaged(expected, e.to_string()))?;
            let Some(row) = next else { break };
            let position = row.get::<_, i64>(0);
            let position = position.map_err(|e| self.damaged(expected, e.to_string()))?;
            if position.cast_unsigned() != expected {
                return Err(self.damaged(
                    expected,
                    format!("the record is missing; the next one is {position}"),
                ));
            }
            let row = RowRef::checked(row).map_err(|reason| self.damaged(expected, reason))?;
            expected += 1;
            if !each(&row)? {
                return Ok(());
            }
        }
        if expected <= self.last.0 {
            let reason = format!("the record is missing; the last one is {}", self.last.0);
            return Err(self.damaged(expected, reason));
        }
        Ok(())
    }

    /// Positions, after a given one, of old records before the first that mailboxes still need; at most `limit`.
    pub(crate) fn sparse(&self, after: Position, limit: usize) -> Result<Vec<Position>, OpenError> {
        let (after, first) = (after.0, self.first.0.cast_signed());
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = || {
            let mut statement = self
                .connection
                .prepare("SELECT position FROM events WHERE position > ? AND position < ? ORDER BY position LIMIT ?")?;
            let positions = statement.query_map([after, first, limit], |r| r.get::<_, i64>(0))?;
            positions
                .map(|p| p.map(|p| Position(p.cast_unsigned())))
                .collect::<Result<_, _>>()
        };
        read().map_err(|e| self.sqlite(e))
    }

    fn sqlite(&self, source: rusqlite::Error) -> OpenError {
        sqlite(self.path, source)
    }

    pub(super) fn shortened(&self) -> OpenError {
        OpenError::Shortened {
            path: self.path.to_owned(),
            first: self.first.0,
        }
    }

    pub(super) fn damaged(&self, position: u64, reason: String) -> OpenError {
        OpenError::Damaged {
            path: self.path.to_owned(),
            position,
            reason,
        }
    }
}

pub(super) fn sqlite(path: &Path, source: rusqlite::Error) -> OpenError {
    OpenError::Sqlite {
        path: path.to_owned(),
        source,
    }
}
