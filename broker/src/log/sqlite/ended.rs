//! Segments of ended tasks in the database. A segment is valid once a snapshot covers it: later ones belong to an
//! unfinished snapshot.

use std::ops::RangeInclusive;

use rusqlite::{Connection, params};

/// A segment of ended tasks, in the order of their last change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Numbers of the first and the last task's change.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) tasks: u64,
    /// Size of the contents.
    pub(crate) bytes: u64,
    /// Time when the last of them ended.
    pub(crate) ended_us: i64,
    /// Everything except the contents.
    pub(crate) heads: Vec<u8>,
    pub(crate) contents: Vec<u8>,
}

/// Limits on the ended tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeping {
    pub(crate) tasks: u64,
    pub(crate) bytes: u64,
    /// Tasks that ended before this are removed.
    pub(crate) since_us: i64,
}

/// Since schema 3. Contents are the last column, so that the others are read without them.
pub(super) const TABLE: &str = "CREATE TABLE ended (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    ended_us INTEGER NOT NULL,
    heads_sum INTEGER NOT NULL,
    contents_sum INTEGER NOT NULL,
    heads BLOB NOT NULL,
    contents BLOB NOT NULL
);";

/// Checksum of a part of a segment.
fn sum(first: i64, part: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&first.to_le_bytes());
    hasher.update(part);
    hasher.finalize()
}

pub(super) fn write(connection: &Connection, segment: &Segment) -> Result<(), rusqlite::Error> {
    let first = segment.first.cast_signed();
    connection
        .prepare_cached("INSERT INTO ended VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            first,
            segment.last.cast_signed(),
            segment.tasks.cast_signed(),
            segment.bytes.cast_signed(),
            segment.ended_us,
            sum(first, &segment.heads),
            sum(first, &segment.contents),
            segment.heads,
            segment.contents,
        ])?;
    Ok(())
}

/// Removes segments that no snapshot covers.
pub(super) fn remove_after(connection: &Connection, last: u64) -> Result<(), rusqlite::Error> {
    connection.execute("DELETE FROM ended WHERE first > ?", [last.cast_signed()])?;
    Ok(())
}

/// Removes a range of segments, by the changes of their first tasks.
pub(super) fn remove(
    connection: &Connection,
    range: RangeInclusive<u64>,
) -> Result<(), rusqlite::Error> {
    let (from, to) = (range.start().cast_signed(), range.end().cast_signed());
    connection.execute("DELETE FROM ended WHERE first BETWEEN ? AND ?", [from, to])?;
    Ok(())
}

/// Extent of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first: u64,
    tasks: u64,
    bytes: u64,
    ended_us: i64,
}

/// All segments, oldest first.
pub(super) fn extents(connection: &Connection) -> Result<Vec<Extent>, rusqlite::Error> {
    let mut statement =
        connection.prepare("SELECT first, tasks, bytes, ended_us FROM ended ORDER BY first")?;
    let number = |row: &rusqlite::Row<'_>, n| {
        Ok::<_, rusqlite::Error>(row.get::<_, i64>(n)?.cast_unsigned())
    };
    let extents = statement.query_map([], |row| {
        Ok(Extent {
            first: number(row, 0)?,
            tasks: number(row, 1)?,
            bytes: number(row, 2)?,
            ended_us: row.get(3)?,
        })
    })?;
    extents.collect()
}

/// The oldest segments that exceed the limits.
pub(super) fn surplus<'a>(extents: &'a [Extent], keeping: &Keeping) -> &'a [Extent] {
    let mut tasks: u64 = extents.iter().map(|extent| extent.tasks).sum();
    let mut bytes: u64 = extents.iter().map(|extent| extent.bytes).sum();
    let needed = extents.iter().position(|extent| {
        tasks -= extent.tasks;
        bytes -= extent.bytes;
        tasks < keeping.tasks && bytes < keeping.bytes && extent.ended_us >= keeping.since_us
    });
    &extents[..needed.unwrap_or(extents.len())]
}

/// Passes the heads of all segments to `each`.
///
/// # Errors
///
/// The damage; or the error of `each`.
pub(super) fn heads(
    connection: &Connection,
    mut each: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let text = |e: rusqlite::Error| e.to_string();
    let mut statement = connection
        .prepare("SELECT first, heads_sum, heads FROM ended ORDER BY first")
        .map_err(text)?;
    let mut rows = statement.query([]).map_err(text)?;
    while let Some(row) = rows.next().map_err(text)? {
        each(checked(row).map_err(|e| format!("a segment of ended tasks: {e}"))?)?;
    }
    Ok(())
}

/// Contents of the segment with a change, if it exists.
///
/// # Errors
///
/// The damage.
pub(super) fn contents(
    connection: &Connection,
    changed: u64,
) -> Result<Option<(u64, Vec<u8>)>, String> {
    let text = |e: rusqlite::Error| e.to_string();
    let mut statement = connection
        .prepare_cached(
            "SELECT first, contents_sum, contents, last FROM ended WHERE first <= ? ORDER BY first DESC LIMIT 1",
        )
        .map_err(text)?;
    let mut rows = statement.query([changed.cast_signed()]).map_err(text)?;
    let Some(row) = rows.next().map_err(text)? else {
        return Ok(None);
    };
    let last: i64 = row.get(3).map_err(text)?;
    Ok(Some((last.cast_unsigned(), checked(row)?.to_vec())))
}

/// A part of a segment, if its checksum matches.
fn checked<'a>(row: &'a rusqlite::Row<'_>) -> Result<&'a [u8], String> {
    let text = |e: rusqlite::Error| e.to_string();
    let (first, stored): (i64, u32) = (row.get(0).map_err(text)?, row.get(1).map_err(text)?);
    let part = row.get_ref(2).map_err(text)?;
    let part = part.as_blob().map_err(|e| e.to_string())?;
    match sum(first, part) == stored {
        true => Ok(part),
        false => Err(format!(
            "the checksum of number {first} does not fit its content"
        )),
    }
}

/// Checks all parts of all segments.
///
/// # Errors
///
/// The first damage.
pub(super) fn check(connection: &Connection) -> Result<(), String> {
    let text = |e: rusqlite::Error| e.to_string();
    for part in ["heads", "contents"] {
        let sql = format!("SELECT first, {part}_sum, {part} FROM ended ORDER BY first");
        let mut statement = connection.prepare(&sql).map_err(text)?;
        let mut rows = statement.query([]).map_err(text)?;
        while let Some(row) = rows.next().map_err(text)? {
            checked(row).map_err(|e| format!("a segment of ended tasks: {e}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_while_enough_are_left() {
        let extents: Vec<Extent> = (0..5)
            .map(|n| Extent {
                first: n * 10,
                tasks: 10,
                bytes: 1_000,
                ended_us: n.cast_signed(),
            })
            .collect();
        let gone = |tasks, bytes, since_us| {
            let keeping = Keeping {
                tasks,
                bytes,
                since_us,
            };
            surplus(&extents, &keeping).len()
        };
        assert_eq!(gone(50, 5_000, 0), 0);
        assert_eq!(gone(41, 5_000, 0), 0, "a segment goes as a whole");
        assert_eq!(gone(40, 5_000, 0), 1);
        assert_eq!(gone(50, 2_500, 0), 2);
        assert_eq!(gone(50, 5_000, 3), 3);
        assert_eq!(gone(0, 0, 9), 5);
    }
}
