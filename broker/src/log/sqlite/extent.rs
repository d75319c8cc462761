//! The log's own id and range of positions. Detects a log that lost some of them.

use std::{ops::RangeInclusive, path::Path};

use rusqlite::{Connection, params};

use crate::log::{LogId, OpenError};

/// SQL that creates the table and its row.
pub(super) fn create(id: LogId) -> String {
    format!(
        "CREATE TABLE log (
             id INTEGER NOT NULL,
             first INTEGER NOT NULL,
             last INTEGER NOT NULL,
             sum INTEGER NOT NULL
         );
         INSERT INTO log VALUES ({}, 1, 0, {});",
        id.number(),
        sum(id, 1, 0)
    )
}

/// Migrates from schema 1, where the log stored its id alone.
pub(super) fn upgrade(connection: &Connection) -> Result<(), rusqlite::Error> {
    if connection.column_exists(None, "log", "first")? {
        return Ok(());
    }
    let id: u32 = connection.query_row("SELECT id FROM log", [], |r| r.get(0))?;
    connection.execute_batch(&format!(
        "DROP TABLE log; {}",
        create(LogId::from_number(id))
    ))?;
    let last = connection.query_row("SELECT ifnull(max(position), 0) FROM events", [], |r| {
        r.get::<_, i64>(0)
    })?;
    set(connection, None, last.cast_unsigned())
}

/// Reads the log's id and range of positions.
///
/// # Errors
///
/// [`OpenError::Damaged`] if it cannot be trusted.
pub(super) fn read(
    connection: &Connection,
    path: &Path,
) -> Result<(LogId, RangeInclusive<u64>), OpenError> {
    let row = connection.query_row("SELECT id, first, last, sum FROM log", [], |r| {
        let (first, last): (i64, i64) = (r.get(1)?, r.get(2)?);
        let id = LogId::from_number(r.get(0)?);
        Ok((id, first.cast_unsigned(), last.cast_unsigned(), r.get(3)?))
    });
    let (id, first, last, found): (_, _, _, u32) = row.map_err(|source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    })?;
    if found != sum(id, first, last) {
        return Err(OpenError::Damaged {
            path: path.to_owned(),
            position: 1,
            reason: "what the log says of itself does not fit its checksum".to_owned(),
        });
    }
    Ok((id, first..=last))
}

/// Updates the end of the log, and the beginning after a compaction. Call it in the transaction of the change.
pub(super) fn set(
    connection: &Connection,
    first: Option<u64>,
    last: u64,
) -> Result<(), rusqlite::Error> {
    let mut read = connection.prepare_cached("SELECT id, first FROM log")?;
    let (id, old) = read.query_row([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)?.cast_unsigned())))?;
    let first = first.unwrap_or(old);
    let sum = sum(LogId::from_number(id), first, last);
    connection
        .prepare_cached("UPDATE log SET first = ?, last = ?, sum = ?")?
        .execute(params![first.cast_signed(), last.cast_signed(), sum])?;
    Ok(())
}

/// Moves the beginning of the log.
pub(super) fn begin_at(connection: &Connection, first: u64) -> Result<(), rusqlite::Error> {
    let last = connection.query_row("SELECT last FROM log", [], |r| r.get::<_, i64>(0))?;
    set(connection, Some(first), last.cast_unsigned())
}

fn sum(id: LogId, first: u64, last: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&id.number().to_le_bytes());
    hasher.update(&first.to_le_bytes());
    hasher.update(&last.to_le_bytes());
    hasher.finalize()
}
