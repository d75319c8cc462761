//! What a hub reads when it starts: the snapshot, and what happened after it.

use super::{super::OpenError, Found, Position, read::Reader};

/// Hands over everything that a fold needs. Returns how far that goes.
///
/// # Errors
///
/// [`OpenError`] for damage, and for what `each` refuses.
pub(crate) fn replay(
    reader: &Reader<'_>,
    mut each: impl FnMut(Found<'_>) -> Result<(), String>,
) -> Result<Position, OpenError> {
    let after = match reader.snapshot()? {
        None => Position(reader.first.0 - 1),
        Some(head) => {
            reader.parts(&head, &mut each)?;
            head.position
        }
    };
    reader.records(Position(after.0 + 1), |record| {
        let position = record.position;
        each(Found::Record(&record)).map_err(|reason| reader.damaged(position.0, reason))?;
        Ok(true)
    })?;
    Ok(reader.last)
}
