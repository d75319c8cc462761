//! Segments of deduplicated publishes in the database, each written once. A segment is valid once a snapshot covers it:
//! later ones belong to an unfinished snapshot.

use rusqlite::{Connection, params};

/// A segment of publishes, in the order of their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenSegment {
    /// Position of the first.
    pub(crate) first: u64,
    /// Arrival of the last, in microseconds since 1970.
    pub(crate) last_us: i64,
    pub(crate) publishes: Vec<u8>,
}

/// Since schema 4.
pub(super) const TABLE: &str = "CREATE TABLE seen (
    first INTEGER PRIMARY KEY,
    last_us INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    publishes BLOB NOT NULL
);";

fn sum(first: i64, publishes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&first.to_le_bytes());
    hasher.update(publishes);
    hasher.finalize()
}

pub(super) fn write(connection: &Connection, segment: &SeenSegment) -> Result<(), rusqlite::Error> {
    let first = segment.first.cast_signed();
    // Publishes of a schema 3 snapshot precede it, and may have been written before.
    connection
        .prepare_cached("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)")?
        .execute(params![
            first,
            segment.last_us,
            sum(first, &segment.publishes),
            segment.publishes,
        ])?;
    Ok(())
}

/// Removes segments that the snapshot does not cover.
pub(super) fn remove_after(connection: &Connection, snapshot: u64) -> Result<(), rusqlite::Error> {
    connection.execute("DELETE FROM seen WHERE first > ?", [snapshot.cast_signed()])?;
    Ok(())
}

/// Removes some of the oldest segments, if all their publishes are older than that. Returns whether there may be more.
pub(super) fn trim(
    connection: &Connection,
    before_us: i64,
    at_once: usize,
) -> Result<bool, rusqlite::Error> {
    let old: Vec<i64> = connection
        .prepare_cached("SELECT first, last_us FROM seen ORDER BY first LIMIT ?")?
        .query_map([i64::try_from(at_once).unwrap_or(i64::MAX)], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?))
        })?
        .take_while(|row| !matches!(row, Ok((_, last_us)) if *last_us >= before_us))
        .map(|row| row.map(|(first, _)| first))
        .collect::<Result<_, _>>()?;
    if let Some(last) = old.last() {
        connection.execute("DELETE FROM seen WHERE first <= ?", [last])?;
    }
    Ok(old.len() == at_once)
}

/// Passes the publishes of all valid segments to `each`.
///
/// # Errors
///
/// The damage; or the error of `each`.
pub(super) fn each(
    connection: &Connection,
    snapshot: u64,
    mut each: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let text = |e: rusqlite::Error| e.to_string();
    let mut statement = connection
        .prepare("SELECT first, sum, publishes FROM seen WHERE first <= ? ORDER BY first")
        .map_err(text)?;
    let mut rows = statement.query([snapshot.cast_signed()]).map_err(text)?;
    while let Some(row) = rows.next().map_err(text)? {
        let (first, stored): (i64, u32) = (row.get(0).map_err(text)?, row.get(1).map_err(text)?);
        let publishes = row.get_ref(2).map_err(text)?;
        let publishes = publishes.as_blob().map_err(|e| e.to_string())?;
        if sum(first, publishes) != stored {
            return Err(format!(
                "a segment of known publishes: the checksum of number {first} does not fit its content"
            ));
        }
        each(publishes)?;
    }
    Ok(())
}
