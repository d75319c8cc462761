//! The writer thread: group commit in one transaction, synced by another thread.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use rusqlite::{Connection, config::DbConfig};

use super::{
    checkpoint::Checkpoints,
    extent,
    packed::Packer,
    room::Room,
    row::Row,
    safe::{Safe, lock},
    syncs::{Committed, Syncs, Unsynced},
};
use crate::metrics::LogMetrics;

/// Maximum bytes of a transaction, unless one group alone is larger.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Pause of the writer on a full disk.
const FULL_PAUSE: Duration = Duration::from_millis(200);

/// A job of the writer.
pub(super) enum Job {
    /// Writes a group.
    Group(Vec<Row>),
    /// Runs a maintenance step.
    Step(Step),
    /// Ends the thread, even if there are other senders.
    End,
}

/// A short transaction of maintenance. Its error is also returned to the caller.
pub(super) type Step = Box<dyn FnOnce(&Connection) -> Result<(), rusqlite::Error> + Send>;

/// Queue of the writer: groups until they are taken, their bytes until they are durable.
#[derive(Debug, Default)]
pub(super) struct Queued {
    groups: AtomicUsize,
    bytes: AtomicUsize,
}

impl Queued {
    pub(super) fn groups(&self) -> usize {
        self.groups.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, group: &[Row]) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes(group), Ordering::Relaxed);
    }

    fn taken(&self) {
        self.groups.fetch_sub(1, Ordering::Relaxed);
    }

    /// The writer has ended.
    pub(super) fn lost(&self) {
        self.groups.store(0, Ordering::Relaxed);
    }

    /// Marks this many bytes as durable.
    pub(super) fn safe(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn bytes(group: &[Row]) -> usize {
    group.iter().map(Row::bytes).sum()
}

/// State of the writer thread.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) checkpoints: Checkpoints,
    pub(super) queue: Receiver<Job>,
    /// A job taken from the queue that does not belong to the current batch.
    pub(super) waiting: Option<Job>,
    pub(super) queued: Arc<Queued>,
    /// The log is closing: do not wait for space on a full disk.
    pub(super) is_closing: Arc<AtomicBool>,
    pub(super) safe: Arc<Mutex<Safe>>,
    pub(super) syncs: Syncs,
    pub(super) room: Room,
    pub(super) packer: Packer,
    pub(super) metrics: Arc<LogMetrics>,
}

/// Error: the log cannot be written any more.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Unsynced(#[from] Unsynced),
}

impl Writer {
    pub(super) fn run(mut self) {
        if let Err(failure) = self.work() {
            self.fail(&failure);
        }
    }

    fn work(&mut self) -> Result<(), Failure> {
        while let Some(job) = self.next()? {
            match job {
                Job::Group(group) => self.write(group)?,
                Job::Step(step) => self.step(step)?,
                Job::End => break,
            }
        }
        Ok(self.syncs.wait()?)
    }

    /// The next job; `None` at the end. While the disk is full, checks for space meanwhile.
    fn next(&mut self) -> Result<Option<Job>, Failure> {
        if let Some(job) = self.waiting.take() {
            return Ok(Some(job));
        }
        while !lock(&self.safe).reserve.is_there() {
            match self.queue.recv_timeout(FULL_PAUSE) {
                Ok(job) => return Ok(Some(job)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    self.syncs.look()?;
                    lock(&self.safe).tell();
                }
            }
        }
        Ok(self.queue.recv().ok())
    }

    /// Runs a step. It is durable with the next commit, before which nobody relies on it.
    fn step(&mut self, step: Step) -> Result<(), Failure> {
        self.syncs.wait()?;
        match step(&self.connection) {
            Ok(()) => self.move_pages(),
            Err(error) if is_fatal(&error) && !self.room.is_lacking(&error) => Err(error.into()),
            Err(_) => Ok(()),
        }
    }

    /// Writes a group, together with those queued meanwhile.
    fn write(&mut self, first: Vec<Row>) -> Result<(), Failure> {
        self.queued.taken();
        let mut batch = Groups::default();
        batch.add(first);
        if batch.rows.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        self.commit(&mut batch)?;
        self.metrics.commit.observe_time(began.elapsed());
        self.metrics.records.observe(batch.rows.len() as u64);
        self.metrics.bytes.inc_by(batch.bytes as u64);
        self.syncs.add(batch.committed())?;
        self.move_pages()
    }

    /// Runs a due checkpoint, which syncs.
    fn move_pages(&mut self) -> Result<(), Failure> {
        if self.checkpoints.are_due() {
            self.syncs.wait()?;
            self.checkpoints.passive(&self.connection)?;
        }
        Ok(())
    }

    /// Commits a batch. Waits on a full disk; after any other failure the content of the disk is unknown, and nothing
    /// is retried.
    fn commit(&mut self, batch: &mut Groups) -> Result<(), Failure> {
        loop {
            let error = match self.transaction(batch) {
                Err(Failure::Sqlite(error)) if self.room.is_lacking(&error) => error,
                other => return other,
            };
            self.syncs.wait()?;
            let gave_up = lock(&self.safe).reserve.give_up();
            // A closing log does not wait for space.
            if !gave_up && self.is_closing.load(Ordering::Relaxed) {
                return Err(error.into());
            }
            lock(&self.safe).tell_full();
            if !gave_up {
                std::thread::sleep(FULL_PAUSE);
            }
        }
    }

    /// Inserts a batch while the previous one is being synced, together with groups queued until then.
    fn transaction(&mut self, batch: &mut Groups) -> Result<(), Failure> {
        let transaction = self.connection.unchecked_transaction()?;
        let Self {
            queue,
            queued,
            packer,
            ..
        } = self;
        gather(batch, queue, queued, &mut self.waiting);
        insert(&transaction, &batch.rows, packer)?;
        let inserted = batch.rows.len();
        self.syncs.wait()?;
        gather(batch, queue, queued, &mut self.waiting);
        insert(&transaction, &batch.rows[inserted..], packer)?;
        extent::set(&transaction, None, batch.committed().last)?;
        Ok(transaction.commit()?)
    }

    /// Reports a failure. The content of the disk is unknown: it is left as it is.
    fn fail(&mut self, failure: &Failure) {
        // Waits for the sync in progress before reporting and closing.
        let _ = self.syncs.wait();
        let left = self
            .connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        tracing::error!(error = %failure, is_left = left.is_ok(), "the log cannot be written: the hub has to be started again");
        lock(&self.safe).tell_failed(failure.to_string());
        self.queued.lost();
    }
}

/// Groups committed together.
#[derive(Debug, Default)]
struct Groups {
    rows: Vec<Row>,
    bytes: usize,
}

impl Groups {
    fn add(&mut self, group: Vec<Row>) {
        self.bytes += bytes(&group);
        match self.rows.is_empty() {
            true => self.rows = group,
            false => self.rows.extend(group),
        }
    }

    fn committed(&self) -> Committed {
        Committed {
            rows: self.rows.len(),
            bytes: self.bytes,
            last: self.rows.last().map_or(0, |row| row.position),
        }
    }
}

/// Takes queued groups into a batch, until it is large or another job comes.
fn gather(batch: &mut Groups, queue: &Receiver<Job>, queued: &Queued, waiting: &mut Option<Job>) {
    while waiting.is_none()
        && batch.bytes < BATCH_BYTES
        && let Ok(job) = queue.try_recv()
    {
        match job {
            Job::Group(group) => {
                queued.taken();
                batch.add(group);
            }
            other => *waiting = Some(other),
        }
    }
}

/// Accessor of a text column.
type Text = fn(&Row) -> &str;

/// Text columns, with their parameter numbers.
const TEXTS: [(usize, Text); 3] = [
    (4, |row| &row.namespace),
    (5, |row| &row.order),
    (6, |row| &row.principal),
];

fn insert(
    connection: &Connection,
    rows: &[Row],
    packer: &mut Packer,
) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO events (position, time_us, kind, namespace, order_key, principal, payload, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    // Bound parameters are kept: most rows share values with the previous one.
    let mut before: Option<&Row> = None;
    for row in rows {
        insert.raw_bind_parameter(1, row.position.cast_signed())?;
        insert.raw_bind_parameter(2, row.time_us)?;
        insert.raw_bind_parameter(3, row.kind)?;
        for (index, text) in TEXTS {
            if before.is_none_or(|before| text(before) != text(row)) {
                insert.raw_bind_parameter(index, text(row))?;
            }
        }
        let (payload, sum) = row.written(packer);
        insert.raw_bind_parameter(7, payload)?;
        insert.raw_bind_parameter(8, sum)?;
        insert.raw_execute()?;
        before = Some(row);
    }
    Ok(())
}

/// True if an error of maintenance leaves the content of the disk unknown.
fn is_fatal(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, DatabaseBusy, DatabaseLocked};
    let harmless = [DatabaseBusy, DatabaseLocked, ConstraintViolation];
    let code = error.sqlite_error_code();
    code.is_some_and(|code| !harmless.contains(&code))
}
