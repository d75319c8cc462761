//! Recovery: reads the snapshot and the records after it at a hub's start.

use std::{
    panic::resume_unwind,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

use super::{
    super::OpenError, LogPart, Position, batch::Batch, beside::Beside, read::Reader, row::RowRef,
};

/// Batches read ahead of the fold.
const AHEAD: usize = 4;

/// Rows read per transaction while the log is being written.
const ROWS: u64 = 20_000;

/// Passes everything that a fold needs to `each`, on a thread of its own: reading and folding take about as long.
/// Returns the extent.
///
/// # Errors
///
/// [`OpenError`] for damage, and for errors of `each`.
pub(crate) fn replay(
    reader: &Reader<'_>,
    mut each: impl FnMut(LogPart<'_>) -> Result<(), String> + Send,
) -> Result<Position, OpenError> {
    let after = match reader.snapshot()? {
        None => Position(reader.first.0 - 1),
        Some(head) => {
            reader.parts(&head, &mut each)?;
            reader.ended(|heads| each(LogPart::Ended(heads)))?;
            reader.seen(head.position, |publishes| each(LogPart::Seen(publishes)))?;
            head.position
        }
    };
    let damaged = |position, reason| reader.damaged(position, reason);
    fold_apart(damaged, each, |batches| {
        read(reader, Position(after.0 + 1), reader.last, batches)
    })?;
    Ok(reader.last)
}

/// The same for a log that is being written, up to its durable end. Omits the data apart from the snapshot: no later
/// record concerns an ended task, or needs deduplication. Also returns the position of the snapshot.
///
/// # Errors
///
/// As [`replay`].
pub(crate) fn replay_changes(
    log: &Beside,
    mut each: impl FnMut(LogPart<'_>) -> Result<(), String> + Send,
) -> Result<Replayed, OpenError> {
    let (snapshot, mut next, last) = log.read(|reader| {
        let Some(head) = reader.snapshot()? else {
            return Ok((Position(0), reader.first, reader.last));
        };
        reader.parts(&head, &mut each)?;
        Ok((head.position, Position(head.position.0 + 1), reader.last))
    })?;
    fold_apart(
        |position, reason| log.damaged(position, reason),
        each,
        |batches| {
            // In portions: while a read transaction is open, the write-ahead log only grows.
            while next <= last {
                let upto = last.min(Position(next.0.saturating_add(ROWS - 1)));
                if !log.read(|reader| read(reader, next, upto, batches))? {
                    return Ok(false);
                }
                next = Position(upto.0 + 1);
            }
            Ok(true)
        },
    )?;
    Ok(Replayed { snapshot, last })
}

/// Extent of a replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replayed {
    /// Position of the snapshot that it began with; 0 if there is none.
    pub(crate) snapshot: Position,
    pub(crate) last: Position,
}

/// Channels of batches to a fold and back.
struct Batches {
    full: SyncSender<Batch>,
    used: Receiver<Batch>,
}

/// Folds, on another thread, what `read` produces.
fn fold_apart(
    damaged: impl Fn(u64, String) -> OpenError,
    each: impl FnMut(LogPart<'_>) -> Result<(), String> + Send,
    read: impl FnOnce(&Batches) -> Result<bool, OpenError>,
) -> Result<(), OpenError> {
    let (full, batches) = sync_channel(AHEAD);
    let (empty, used) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        let folding = scope.spawn(move || fold(&batches, &empty, each));
        let batches = Batches { full, used };
        let read = read(&batches);
        drop(batches);
        let folded = folding.join().unwrap_or_else(|panic| resume_unwind(panic));
        // An error of the fold precedes an error of reading.
        folded.map_err(|(position, reason)| damaged(position, reason))?;
        read.map(|_| ())
    })
}

/// Reads rows into batches until the last one. Returns whether the fold continues.
fn read(
    reader: &Reader<'_>,
    from: Position,
    last: Position,
    batches: &Batches,
) -> Result<bool, OpenError> {
    let mut batch = Batch::default();
    let read = match from <= last {
        false => Ok(()),
        true => reader.rows(from, |row| {
            batch.push(row);
            let is_last = row.position >= last.0;
            if !batch.is_full() {
                return Ok(!is_last);
            }
            let next = batches.used.try_recv().unwrap_or_default();
            let sent = batches.full.send(std::mem::replace(&mut batch, next));
            Ok(sent.is_ok() && !is_last)
        }),
    };
    let goes_on = batches.full.send(batch).is_ok();
    read.map(|()| goes_on)
}

/// Folds batches, and returns them for reuse. The error has the position of the failed record.
fn fold(
    batches: &Receiver<Batch>,
    empty: &SyncSender<Batch>,
    mut each: impl FnMut(LogPart<'_>) -> Result<(), String>,
) -> Result<(), (u64, String)> {
    let mut take = |row: RowRef<'_>| {
        let record = row.record()?;
        each(LogPart::Record(&record))
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
