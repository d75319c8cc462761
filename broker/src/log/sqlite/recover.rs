//! What a hub reads when it starts: the snapshot, and what happened after it.

use std::{
    panic::resume_unwind,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

use super::{super::OpenError, Found, Position, batch::Batch, read::Reader, row::RowRef};

/// Batches that are read ahead of the fold.
const AHEAD: usize = 4;

/// Whether ended tasks that lie apart are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Yes,
    /// No record that follows the snapshot is about one of them.
    No,
}

/// Hands over everything that a fold needs, from a thread of its own: reading and folding take about as long. Ended tasks that lie apart
/// come only if they are wanted. Returns how far that goes.
///
/// # Errors
///
/// [`OpenError`] for damage, and for what `each` refuses.
pub(crate) fn replay(
    reader: &Reader<'_>,
    ended: Wanted,
    mut each: impl FnMut(Found<'_>) -> Result<(), String> + Send,
) -> Result<Position, OpenError> {
    let after = match reader.snapshot()? {
        None => Position(reader.first.0 - 1),
        Some(head) => {
            reader.parts(&head, &mut each)?;
            if ended == Wanted::Yes {
                reader.ended(|heads| each(Found::Ended(heads)))?;
            }
            head.position
        }
    };
    let (full, batches) = sync_channel(AHEAD);
    let (empty, used) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        let folding = scope.spawn(move || fold(&batches, &empty, each));
        let read = read(reader, Position(after.0 + 1), &full, &used);
        drop(full);
        let folded = folding.join().unwrap_or_else(|panic| resume_unwind(panic));
        // What cannot be folded stands before what cannot be read.
        folded.map_err(|(position, reason)| reader.damaged(position, reason))?;
        read
    })?;
    Ok(reader.last)
}

/// Reads rows into batches until the log or the fold ends.
fn read(
    reader: &Reader<'_>,
    from: Position,
    full: &SyncSender<Batch>,
    used: &Receiver<Batch>,
) -> Result<(), OpenError> {
    let mut batch = Batch::default();
    let read = reader.rows(from, |row| {
        batch.push(row);
        if !batch.is_full() {
            return Ok(true);
        }
        let next = used.try_recv().unwrap_or_default();
        Ok(full.send(std::mem::replace(&mut batch, next)).is_ok())
    });
    let _ = full.send(batch);
    read
}

/// Folds batches, and gives them back. The error names the position of what cannot be folded.
fn fold(
    batches: &Receiver<Batch>,
    empty: &SyncSender<Batch>,
    mut each: impl FnMut(Found<'_>) -> Result<(), String>,
) -> Result<(), (u64, String)> {
    let mut take = |row: RowRef<'_>| {
        let record = row.record()?;
        each(Found::Record(&record))
    };
    for mut batch in batches {
        for row in batch.iter() {
            take(row).map_err(|reason| (row.position, reason))?;
        }
        batch.clear();
        let _ = empty.try_send(batch);
    }
    Ok(())
}
