//! Snapshots in the database: the state at a position, in parts with checksums. A snapshot is valid once its head is
//! written; parts without a head belong to an unfinished one.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::{OpenError, Position};

/// Format version of written parts, and the newest that can be read.
const FORMAT: i64 = 3;

/// Kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Positions of records that other parts refer to.
    Kept = 1,
    /// A part of the state.
    State = 2,
}

/// Head of a complete snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The snapshot includes all records up to here.
    pub(crate) position: Position,
    parts: i64,
    sum: u32,
}

/// Head in progress, while parts are written.
#[derive(Debug)]
pub(super) struct Heading {
    position: Position,
    parts: i64,
    sums: crc32fast::Hasher,
}

impl Heading {
    pub(super) fn new(position: Position) -> Self {
        Self {
            position,
            parts: 0,
            sums: crc32fast::Hasher::new(),
        }
    }

    /// Adds a part. Returns its number and checksum.
    pub(super) fn add(&mut self, kind: i64, payload: &[u8]) -> (i64, u32) {
        let number = self.parts;
        self.parts += 1;
        let mut hasher = crc32fast::Hasher::new();
        for n in [self.position.0.cast_signed(), number, kind] {
            hasher.update(&n.to_le_bytes());
        }
        hasher.update(payload);
        let sum = hasher.finalize();
        self.sums.update(&sum.to_le_bytes());
        (number, sum)
    }

    pub(super) fn finish(self) -> Head {
        Head {
            position: self.position,
            parts: self.parts,
            sum: self.sums.finalize(),
        }
    }
}

/// Encodes the positions to keep, the first parts of a snapshot.
pub(super) fn kept(positions: impl IntoIterator<Item = Position>) -> Vec<u8> {
    let positions = positions.into_iter();
    positions.flat_map(|p| p.0.to_le_bytes()).collect()
}

/// Decodes such a part.
pub(super) fn positions(payload: &[u8]) -> impl Iterator<Item = Position> + '_ {
    let (numbers, _) = payload.as_chunks::<8>();
    numbers.iter().map(|n| Position(u64::from_le_bytes(*n)))
}

/// Writes a part.
pub(super) fn write_part(
    connection: &Connection,
    snapshot: Position,
    kind: Part,
    numbered: (i64, u32),
    payload: &[u8],
) -> Result<(), rusqlite::Error> {
    let (number, sum) = numbered;
    connection
        .prepare_cached(
            "INSERT INTO parts (snapshot, number, kind, payload, sum) VALUES (?, ?, ?, ?, ?)",
        )?
        .execute(params![
            snapshot.0.cast_signed(),
            number,
            kind as i64,
            payload,
            sum
        ])?;
    Ok(())
}

/// Writes the head, which makes the snapshot valid.
pub(super) fn write_head(connection: &Connection, head: &Head) -> Result<(), rusqlite::Error> {
    connection.execute("DELETE FROM snapshots", [])?;
    connection.execute(
        "INSERT INTO snapshots (position, format, parts, sum) VALUES (?, ?, ?, ?)",
        params![head.position.0.cast_signed(), FORMAT, head.parts, head.sum],
    )?;
    Ok(())
}

/// Removes some parts of other snapshots. Returns whether there may be more.
pub(super) fn sweep(
    connection: &Connection,
    snapshot: Position,
    at_once: i64,
) -> Result<bool, rusqlite::Error> {
    let snapshot = snapshot.0.cast_signed();
    // Both conditions use the index: a scan would read all parts of the snapshot.
    for others in ["snapshot < ?", "snapshot > ?"] {
        let sql = format!(
            "DELETE FROM parts WHERE rowid IN (SELECT rowid FROM parts WHERE {others} LIMIT ?)"
        );
        if connection
            .prepare_cached(&sql)?
            .execute([snapshot, at_once])?
            > 0
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The snapshot, if there is one and all of it is valid.
///
/// # Errors
///
/// The damage.
pub(super) fn check(connection: &Connection) -> Result<Option<Head>, String> {
    let text = |e: rusqlite::Error| e.to_string();
    let found = connection
        .query_row(
            "SELECT position, format, parts, sum FROM snapshots ORDER BY position DESC",
            [],
            |r| {
                Ok((
                    r.get::<_, i64>(0)?,
                    r.get::<_, i64>(1)?,
                    r.get(2)?,
                    r.get(3)?,
                ))
            },
        )
        .optional()
        .map_err(text)?;
    let Some((position, format, parts, sum)) = found else {
        return Ok(None);
    };
    if format > FORMAT {
        return Err(format!(
            "it has format {format}, and this hub reads up to {FORMAT}: use a newer agenthub"
        ));
    }
    let position = Position(position.cast_unsigned());
    let mut heading = Heading::new(position);
    let mut statement = connection
        .prepare("SELECT number, kind, payload, sum FROM parts WHERE snapshot = ? ORDER BY number")
        .map_err(text)?;
    let mut rows = statement.query([position.0.cast_signed()]).map_err(text)?;
    while let Some(row) = rows.next().map_err(text)? {
        let payload = row.get_ref(2).map_err(text)?;
        let payload = payload.as_blob().map_err(|e| e.to_string())?;
        let computed = heading.add(row.get(1).map_err(text)?, payload);
        let stored = (row.get(0).map_err(text)?, row.get(3).map_err(text)?);
        if computed != stored {
            return Err(format!(
                "part {} is missing, or its checksum does not fit its content",
                computed.0
            ));
        }
    }
    let head = heading.finish();
    if (head.parts, head.sum) != (parts, sum) {
        return Err("its parts are not those that it was made of".to_owned());
    }
    Ok(Some(head))
}

/// Passes the parts of one kind to `each`.
pub(super) fn each(
    connection: &Connection,
    head: &Head,
    kind: Part,
    mut each: impl FnMut(&[u8]) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    let problem = |source| OpenError::Sqlite {
        path: connection.path().unwrap_or_default().into(),
        source,
    };
    let mut statement = connection
        .prepare("SELECT payload FROM parts WHERE snapshot = ? AND kind = ? ORDER BY number")
        .map_err(problem)?;
    let mut rows = statement
        .query(params![head.position.0.cast_signed(), kind as i64])
        .map_err(problem)?;
    while let Some(row) = rows.next().map_err(problem)? {
        let payload: Vec<u8> = row.get(0).map_err(problem)?;
        each(&payload)?;
    }
    Ok(())
}
