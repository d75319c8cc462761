//! Reading: every record is checked; what is damaged is named, never skipped.

use std::path::Path;

use rusqlite::Connection;

use super::{
    super::{OpenError, Position, Record},
    row::Row,
};

/// Reads and checks the records after a position, oldest first, until `each` says no.
pub(super) fn read(
    connection: &Connection,
    path: &Path,
    after: Position,
    mut each: impl FnMut(Record) -> bool,
) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let damaged = |position, reason: String| OpenError::Damaged {
        path: path.to_owned(),
        position,
        reason,
    };
    let mut statement = connection
        .prepare("SELECT position, time_us, kind, namespace, order_key, principal, payload, sum FROM events WHERE position > ? ORDER BY position")
        .map_err(sqlite)?;
    let mut rows = statement.query([after.0.cast_signed()]).map_err(sqlite)?;
    let mut expected = None;
    loop {
        let next = rows
            .next()
            .map_err(|e| damaged(expected.unwrap_or(after.0 + 1), e.to_string()))?;
        let Some(row) = next else { return Ok(()) };
        let get = |row: &rusqlite::Row<'_>| -> Result<(Row, u32), rusqlite::Error> {
            let found = Row {
                position: row.get::<_, i64>(0)?.cast_unsigned(),
                time_us: row.get(1)?,
                kind: row.get(2)?,
                namespace: row.get(3)?,
                order: row.get(4)?,
                principal: row.get(5)?,
                payload: row.get(6)?,
            };
            Ok((found, row.get(7)?))
        };
        let (row, sum) =
            get(row).map_err(|e| damaged(expected.unwrap_or(after.0 + 1), e.to_string()))?;
        if let Some(expected) = expected.filter(|e| *e != row.position) {
            return Err(damaged(
                expected,
                format!("the record is missing; the next one is {}", row.position),
            ));
        }
        if row.sum() != sum {
            return Err(damaged(
                row.position,
                "its checksum does not fit its content".to_owned(),
            ));
        }
        expected = Some(row.position + 1);
        let position = row.position;
        let record = row.record().map_err(|reason| damaged(position, reason))?;
        if !each(record) {
            return Ok(());
        }
    }
}
