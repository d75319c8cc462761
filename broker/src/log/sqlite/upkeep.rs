//! Maintenance of a log in use: writes snapshots and removes old records, in small steps between the writer's groups.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::mpsc::{Sender, sync_channel},
    time::SystemTime,
};

use rusqlite::Connection;

use super::{
    beside::Beside,
    compaction,
    ended::{self, Keeping, Segment},
    extent,
    read::Reader,
    seen::{self, SeenSegment},
    snapshot::{self, Heading, Part},
    writer::{Job, Step},
};
use crate::log::{OpenError, Position, Retention};

/// Maximum bytes of parts per step.
const STEP_BYTES: usize = 1024 * 1024;
/// Maximum positions per part.
const POSITIONS: usize = 10_000;
/// Maximum parts removed per step.
const PARTS: i64 = 100;

/// Maximum segments, of ended tasks or of publishes, removed per step.
const SEGMENTS: usize = 50;

/// Handle for maintenance of an open log. Ends with the log.
#[derive(Clone, Debug)]
pub(crate) struct Upkeep {
    pub(super) folder: PathBuf,
    pub(super) jobs: Sender<Job>,
}

/// Error: the maintenance was not finished; the log is intact.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfinished {
    /// The log is closed, or has failed.
    #[error("the log is closed")]
    Closed,
    /// The hub is stopping.
    #[error("it was told to stop")]
    Stopped,
    /// No space, or another writer is active.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The log cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Upkeep {
    /// The log, readable while it is written.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub(crate) fn beside(&self) -> Result<Beside, OpenError> {
        Beside::open(&self.folder)
    }

    /// Reads the log in one transaction.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        self.beside()?.read(read)
    }

    /// Writes a snapshot of everything up to a position. `write` supplies its parts; the snapshot is valid once all of
    /// it is durable.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]; the previous snapshot stays valid then.
    pub(crate) fn write_snapshot(
        &self,
        position: Position,
        kept: &BTreeSet<Position>,
        write: impl FnOnce(&mut dyn FnMut(Vec<u8>) -> Result<(), Unfinished>) -> Result<(), Unfinished>,
    ) -> Result<(), Unfinished> {
        // An unfinished or invalid snapshot may have the same position.
        self.step(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            let position = [position.0.cast_signed()];
            transaction.execute("DELETE FROM snapshots WHERE position = ?", position)?;
            transaction.execute("DELETE FROM parts WHERE snapshot = ?", position)?;
            transaction.commit()
        })?;
        let mut heading = Heading::new(position);
        let mut batch: Vec<(Part, (i64, u32), Vec<u8>)> = Vec::new();
        let mut bytes = 0;
        let mut add = |kind: Part, payload: Vec<u8>| {
            bytes += payload.len();
            batch.push((kind, heading.add(kind as i64, &payload), payload));
            if bytes < STEP_BYTES {
                return Ok(());
            }
            bytes = 0;
            self.write_parts(position, std::mem::take(&mut batch))
        };
        let kept: Vec<Position> = kept.iter().copied().collect();
        for chunk in kept.chunks(POSITIONS) {
            add(Part::Kept, snapshot::kept(chunk.iter().copied()))?;
        }
        write(&mut |payload| add(Part::State, payload))?;
        self.write_parts(position, batch)?;
        let head = heading.finish();
        self.step(move |connection| snapshot::write_head(connection, &head))?;
        while self.ask(move |connection| snapshot::sweep(connection, position, PARTS))? {}
        Ok(())
    }

    /// Writes segments of ended tasks, after those of changes up to `after`. They are valid once a snapshot covers
    /// them.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]; the written segments are ignored then.
    pub(crate) fn write_ended(
        &self,
        after: u64,
        write: impl FnOnce(&mut dyn FnMut(Segment) -> Result<(), Unfinished>) -> Result<(), Unfinished>,
    ) -> Result<(), Unfinished> {
        self.step(move |connection| ended::remove_after(connection, after))?;
        let mut batch = Vec::new();
        let mut bytes = 0;
        write(&mut |segment: Segment| {
            bytes += segment.heads.len() + segment.contents.len();
            batch.push(segment);
            if bytes < STEP_BYTES {
                return Ok(());
            }
            bytes = 0;
            self.write_segments(std::mem::take(&mut batch))
        })?;
        self.write_segments(batch)
    }

    /// Writes segments of deduplicated publishes, after those of the snapshot at `after`. They are valid once a
    /// snapshot covers them.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]; the written segments are ignored then.
    pub(crate) fn write_seen(
        &self,
        after: Position,
        segments: impl Iterator<Item = SeenSegment>,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<(), Unfinished> {
        self.step(move |connection| seen::remove_after(connection, after.0))?;
        for segment in segments {
            if must_stop() {
                return Err(Unfinished::Stopped);
            }
            self.step(move |connection| seen::write(connection, &segment))?;
        }
        Ok(())
    }

    /// Removes segments of publishes that are all older than that, in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]; some may have been removed.
    pub(crate) fn trim_seen(&self, before_us: i64) -> Result<(), Unfinished> {
        while self.ask(move |connection| seen::trim(connection, before_us, SEGMENTS))? {}
        Ok(())
    }

    fn write_segments(&self, batch: Vec<Segment>) -> Result<(), Unfinished> {
        if batch.is_empty() {
            return Ok(());
        }
        self.step(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            for segment in &batch {
                ended::write(&transaction, segment)?;
            }
            transaction.commit()
        })
    }

    /// Removes segments of ended tasks beyond the limits.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]; some may have been removed.
    pub(crate) fn trim_ended(&self, keeping: Keeping) -> Result<(), Unfinished> {
        let extents = self.read(|reader| reader.ended_extents())?;
        for gone in ended::surplus(&extents, &keeping).chunks(SEGMENTS) {
            let range = gone[0].first..=gone[gone.len() - 1].first;
            self.step(move |connection| ended::remove(connection, range))?;
        }
        Ok(())
    }

    /// Removes old records that the snapshot covers and does not refer to. Returns their number.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]; some may have been removed.
    pub(crate) fn compact(
        &self,
        snapshot: Position,
        kept: &BTreeSet<Position>,
        retention: &Retention,
        now: SystemTime,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<u64, Unfinished> {
        let plan = self.read(|reader| compaction::plan(reader, snapshot, kept, retention, now))?;
        let mut gone = 0;
        for range in plan.stale {
            gone += self.ask(move |connection| compaction::remove(connection, range))?;
        }
        for (ranges, first) in plan.steps {
            if must_stop() {
                return Err(Unfinished::Stopped);
            }
            gone += self.ask(move |connection| {
                let transaction = connection.unchecked_transaction()?;
                let mut gone = 0;
                for range in ranges {
                    gone += compaction::remove(&transaction, range)?;
                }
                extent::begin_at(&transaction, first.0)?;
                transaction.commit()?;
                Ok(gone)
            })?;
        }
        Ok(gone)
    }

    /// Returns the space of removed records to the system. Blocks all writing meanwhile.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]; the log is intact.
    pub(crate) fn shrink(&self) -> Result<(), Unfinished> {
        self.step(|connection| connection.execute_batch("VACUUM"))
    }

    fn write_parts(
        &self,
        position: Position,
        batch: Vec<(Part, (i64, u32), Vec<u8>)>,
    ) -> Result<(), Unfinished> {
        self.step(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            for (kind, numbered, payload) in &batch {
                snapshot::write_part(&transaction, position, *kind, *numbered, payload)?;
            }
            transaction.commit()
        })
    }

    fn step(
        &self,
        act: impl FnOnce(&Connection) -> Result<(), rusqlite::Error> + Send + 'static,
    ) -> Result<(), Unfinished> {
        self.ask(act)
    }

    /// Runs a step on the writer, and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, Unfinished> {
        let (answer, answered) = sync_channel(1);
        let step: Step = Box::new(move |connection| {
            let result = act(connection);
            let error = result.as_ref().err().map(copy);
            let _ = answer.send(result);
            error.map_or(Ok(()), Err)
        });
        let sent = self.jobs.send(Job::Step(step));
        sent.map_err(|_| Unfinished::Closed)?;
        let answered = answered.recv().map_err(|_| Unfinished::Closed)?;
        Ok(answered?)
    }
}

/// A copy of the error for the writer, which checks its code.
fn copy(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(e, text) => rusqlite::Error::SqliteFailure(*e, text.clone()),
        _ => rusqlite::Error::InvalidQuery,
    }
}
