//! What a hub reads when it starts: the snapshot, and what happened after it.

use std::{panic::resume_unwind, sync::mpsc::sync_channel, thread};

use super::{
    super::{OpenError, Record, window::Window},
    Found, Options, Position,
    read::Reader,
};

/// Records that are handed over together, and how often so many may wait.
const BATCH: usize = 256;
/// See [`BATCH`].
const BATCHES: usize = 16;

/// Hands over everything that a fold needs. Returns how far that goes.
///
/// # Errors
///
/// See [`recover`].
pub(crate) fn replay(
    reader: &Reader<'_>,
    each: impl FnMut(Found<'_>) -> Result<(), String> + Send,
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
    mut each: impl FnMut(Found<'_>) -> Result<(), String> + Send,
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
    // What is read and what is made of it take about as long.
    thread::scope(|scope| {
        let (batches, read) = sync_channel::<Vec<Record>>(BATCHES);
        let folding = scope.spawn(move || {
            for record in read.iter().flatten() {
                let position = record.position;
                if position > after {
                    each(Found::Record(&record)).map_err(|reason| (position, reason))?;
                }
                if position.0 >= from {
                    window.push(record);
                }
            }
            Ok(window)
        });
        let mut batch = Vec::with_capacity(BATCH);
        let read = reader.records(Position(from.min(after.0 + 1)), |record| {
            batch.push(record);
            // A fold that has refused something takes no more.
            Ok(batch.len() < BATCH || batches.send(std::mem::take(&mut batch)).is_ok())
        });
        let _ = batches.send(batch);
        drop(batches);
        let folded = folding.join().unwrap_or_else(|e| resume_unwind(e));
        let window =
            folded.map_err(|(at, reason): (Position, String)| reader.damaged(at.0, reason))?;
        read.map(|()| window)
    })
}
