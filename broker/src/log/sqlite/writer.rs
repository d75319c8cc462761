//! The thread that alone writes: it commits what has come meanwhile in one transaction.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use rusqlite::{Connection, config::DbConfig, params};
use tokio::sync::watch;

use super::{
    acknowledged::Acknowledged, checkpoint::Checkpoints, extent, reserve::Reserve, room::Room,
    row::Row,
};
use crate::log::{Commit, Position};

/// Bytes of one transaction, unless one group alone is larger.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How long the writer waits before it looks for room again on a full disk.
const FULL_PAUSE: Duration = Duration::from_millis(200);

/// What the writer does.
pub(super) enum Job {
    /// Writes a group.
    Group(Vec<Row>),
    /// Does something in between.
    Step(Step),
    /// Ends, whoever else could still send something.
    End,
}

/// A short transaction of the upkeep. Its error is told to who asked for it, too.
pub(super) type Step = Box<dyn FnOnce(&Connection) -> Result<(), rusqlite::Error> + Send>;

/// What waits for the writer: groups until it takes them, their bytes until these are safe.
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

    /// Nobody takes groups any more.
    pub(super) fn lost(&self) {
        self.groups.store(0, Ordering::Relaxed);
    }

    /// So many bytes of what was taken are written.
    fn safe(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn bytes(group: &[Row]) -> usize {
    group.iter().map(Row::bytes).sum()
}

/// The thread that alone writes.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) checkpoints: Checkpoints,
    pub(super) queue: Receiver<Job>,
    /// What came while a batch was put together, and is not for it.
    pub(super) waiting: Option<Job>,
    pub(super) queued: Arc<Queued>,
    /// The log is being closed: a full disk is not waited out.
    pub(super) is_closing: Arc<AtomicBool>,
    pub(super) committed: watch::Sender<Commit>,
    /// The last position that is safe.
    pub(super) last: u64,
    pub(super) acknowledged: Acknowledged,
    pub(super) room: Room,
    pub(super) reserve: Reserve,
}

impl Writer {
    pub(super) fn run(mut self) {
        while let Some(job) = self.next() {
            let done = match job {
                Job::Group(group) => self.write(group),
                Job::Step(step) => match step(&self.connection) {
                    Ok(()) => self.checkpoints.after_commit(&self.connection),
                    Err(error) if is_fatal(&error) && !self.room.is_lacking(&error) => Err(error),
                    Err(_) => Ok(()),
                },
                Job::End => return,
            };
            if let Err(error) = done {
                self.fail(&error);
                return;
            }
        }
    }

    /// The next job; `None` at the end. While the disk is full, it looks for room meanwhile.
    fn next(&mut self) -> Option<Job> {
        if let Some(job) = self.waiting.take() {
            return Some(job);
        }
        while !self.reserve.is_there() {
            match self.queue.recv_timeout(FULL_PAUSE) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.tell(),
            }
        }
        self.queue.recv().ok()
    }

    /// Writes a group, and those that have come meanwhile.
    fn write(&mut self, first: Vec<Row>) -> Result<(), rusqlite::Error> {
        self.queued.taken();
        let mut size = bytes(&first);
        let mut batch = first;
        while size < BATCH_BYTES {
            match self.queue.try_recv() {
                Ok(Job::Group(group)) => {
                    self.queued.taken();
                    size += bytes(&group);
                    batch.extend(group);
                }
                Ok(other) => {
                    self.waiting = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        self.commit(&batch)?;
        self.queued.safe(size);
        Ok(())
    }

    /// Writes a batch. A full disk is waited out; after any other failure what is on disk is not known, and nothing is tried again.
    fn commit(&mut self, batch: &[Row]) -> Result<(), rusqlite::Error> {
        let Some(last) = batch.last().map(|r| r.position) else {
            return Ok(());
        };
        loop {
            match self.transaction(batch, last) {
                Ok(()) => break,
                Err(error) if self.room.is_lacking(&error) && self.reserve.give_up() => {
                    self.tell_full()
                }
                Err(error) if self.waits_for_room(&error) => {
                    self.tell_full();
                    std::thread::sleep(FULL_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
        self.last = last;
        self.acknowledged.advance(last);
        self.tell();
        Ok(())
    }

    /// Whether a batch is written once there is room again. A log that is being closed does not wait for that.
    fn waits_for_room(&self, error: &rusqlite::Error) -> bool {
        self.room.is_lacking(error) && !self.is_closing.load(Ordering::Relaxed)
    }

    fn transaction(&mut self, batch: &[Row], last: u64) -> Result<(), rusqlite::Error> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO events (position, time_us, kind, namespace, order_key, principal, payload, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )?;
            for row in batch {
                insert.execute(params![
                    row.position.cast_signed(),
                    row.time_us,
                    row.kind,
                    row.namespace,
                    &*row.order,
                    row.principal,
                    row.payload,
                    row.sum(),
                ])?;
            }
        }
        extent::set(&transaction, None, last)?;
        transaction.commit()?;
        self.checkpoints.after_commit(&self.connection)
    }

    /// Says how far the log is safe. The disk counts as full as long as there is no room for the reserve.
    pub(super) fn tell(&mut self) {
        match self.reserve.make() {
            true => self.say(Commit::Upto(Position(self.last))),
            false => self.tell_full(),
        }
    }

    fn tell_full(&self) {
        self.say(Commit::Full(Position(self.last)));
    }

    fn say(&self, news: Commit) {
        let was_full = matches!(*self.committed.borrow(), Commit::Full(_));
        match (was_full, &news) {
            (false, Commit::Full(_)) => tracing::error!(
                "the disk of the hub's log is full: nothing new is accepted until there is room"
            ),
            (true, Commit::Upto(_)) => {
                tracing::info!("there is room again on the disk of the hub's log");
            }
            _ => {}
        }
        self.committed.send_if_modified(|said| {
            let is_news = *said != news;
            *said = news;
            is_news
        });
    }

    /// What the disk holds is not known: it is left as it is.
    fn fail(&self, error: &rusqlite::Error) {
        let left = self
            .connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        tracing::error!(%error, is_left = left.is_ok(), "the log cannot be written: the hub has to be started again");
        self.committed
            .send_replace(Commit::Failed(error.to_string()));
        self.queued.lost();
    }
}

/// Whether an error of the upkeep leaves open what is on disk.
fn is_fatal(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, DatabaseBusy, DatabaseLocked};
    let harmless = [DatabaseBusy, DatabaseLocked, ConstraintViolation];
    let code = error.sqlite_error_code();
    code.is_some_and(|code| !harmless.contains(&code))
}
