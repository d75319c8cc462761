//! What a hub reads when it starts: the snapshot, and what happened after it.

use super::{
    super::{OpenError, window::Window},
    Found, Options, Position,
    read::Reader,
};

/// Hands over everything that a fold needs. Returns how far that goes.
///
/// # Errors
///
/// See [`recover`].
pub(crate) fn replay(
    reader: &Reader<'_>,
    each: impl FnMut(Found<'_>) -> Result<(), String>,
) -> Result<Position, OpenError> {
    let options = Options {
        window_records: 0,
        ..Options::default()
    };
    recover(reader, &options, each).map(|_window| reader.last)
}

/// Hands over everything that a fold needs, and keeps the latest events at hand.
///
/// # Errors
///
/// [`OpenError`] for damage, and for parts of a snapshot that `each` refuses.
pub(super) fn recover(
    reader: &Reader<'_>,
    options: &Options,
    mut each: impl FnMut(Found<'_>) -> Result<(), String>,
) -> Result<Window, OpenError> {
    let mut window = Window::new(reader.id, options.window_records, options.window_bytes);
    let after = match reader.snapshot()? {
        None => Position(reader.first.0 - 1),
        Some(head) => {
            reader.parts(&head, &mut each)?;
            head.position
        }
    };
    let at_hand = u64::try_from(options.window_records).unwrap_or(u64::MAX);
    let from = (reader.last.0 + 1)
        .saturating_sub(at_hand)
        .max(reader.first.0);
    window.begin_after(Position(from - 1));
    reader.records(Position(from.min(after.0 + 1)), |record| {
        let position = record.position;
        if position > after {
            each(Found::Record(&record)).map_err(|reason| reader.damaged(position.0, reason))?;
        }
        if position.0 >= from {
            window.push(record);
        }
        Ok(true)
    })?;
    Ok(window)
}
