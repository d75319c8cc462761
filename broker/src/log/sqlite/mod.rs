//! The log in SQLite: write-ahead log, one row per record, one writer thread with group commit, and another thread that
//! syncs a commit before it is reported. Each row has a checksum, and one row has the log's beginning and end; damaged
//! or missing rows are reported, never skipped.

mod acknowledged;
mod batch;
mod beside;
mod checkpoint;
mod compaction;
mod ended;
mod extent;
mod history;
mod packed;
mod pages;
mod read;
mod recover;
mod reserve;
mod room;
mod row;
mod safe;
mod schema;
mod seen;
mod snapshot;
mod syncs;
mod upkeep;
mod wal;
mod writer;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Sender},
    },
    thread::JoinHandle,
};

use self::{
    acknowledged::Acknowledged,
    checkpoint::Checkpoints,
    history::Stored,
    packed::Packer,
    reserve::Reserve,
    room::{Probe, Room},
    row::Row,
    safe::Safe,
    syncs::Syncs,
    writer::{Job, Queued, Writer},
};
use super::{
    Commit, Commits, EventLog, History, LogId, OpenError, Position, Record, commits::Committer,
};
use crate::{Error, metrics::LogMetrics};

pub(crate) use beside::{Beside, beside, copy};
pub(crate) use ended::{Keeping, Segment};
pub(crate) use pages::Pages;
pub(crate) use read::{LogPart, Reader};
pub(crate) use recover::{Replayed, replay, replay_changes};
pub(crate) use schema::SCHEMA;
pub(crate) use schema::is_in_use;
pub(crate) use seen::SeenSegment;
pub(crate) use upkeep::{Unfinished, Upkeep};
#[cfg(test)]
pub(crate) use wal::Synced;
pub use wal::Torn;
pub(crate) use wal::Wal;
pub(crate) use wal::torn;

/// The database; SQLite's `-wal` and `-shm` are beside it.
pub(crate) const FILE: &str = "log.db";
/// Maximum groups queued for the writer.
const QUEUE: usize = 16_384;
/// Bytes queued for the writer from which on publishes are refused. Less than the reserve.
pub(crate) const QUEUE_BYTES: usize = 16 * 1024 * 1024;

/// Options of the log.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// SQLite VFS, if not the default.
    pub(crate) vfs: Option<String>,
    /// Size of the reserve file, which is deleted on a full disk.
    pub(crate) reserve_bytes: u64,
    /// Test for an exceeded quota.
    pub(crate) probe: Probe,
    /// Metrics of the writer.
    pub(crate) metrics: Arc<LogMetrics>,
    /// Additional SQLite settings of a test.
    #[cfg(test)]
    pub(crate) pragmas: &'static str,
    /// Syncs the write-ahead log in a test.
    #[cfg(test)]
    pub(crate) wal: Option<Wal>,
    /// Maximum rows that are synced inline.
    #[cfg(test)]
    pub(crate) few: usize,
    /// Pages in the write-ahead log that trigger a checkpoint.
    #[cfg(test)]
    pub(crate) checkpoint_pages: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            vfs: None,
            reserve_bytes: 32 * 1024 * 1024,
            probe: room::probe,
            metrics: Arc::default(),
            #[cfg(test)]
            pragmas: "",
            #[cfg(test)]
            wal: None,
            #[cfg(test)]
            few: syncs::FEW,
            #[cfg(test)]
            checkpoint_pages: checkpoint::PAGES,
        }
    }
}

impl Options {
    fn checkpoint_pages(&self) -> i32 {
        #[cfg(test)]
        return self.checkpoint_pages;
        #[cfg(not(test))]
        checkpoint::PAGES
    }

    fn few(&self) -> usize {
        #[cfg(test)]
        return self.few;
        #[cfg(not(test))]
        syncs::FEW
    }

    fn wal(&self, database: &Path) -> io::Result<Wal> {
        #[cfg(test)]
        if let Some(wal) = &self.wal {
            return Ok(wal.clone());
        }
        Wal::open(database)
    }
}

/// The log, see the module.
#[derive(Debug)]
pub(crate) struct SqliteLog {
    id: LogId,
    next: u64,
    group: Vec<Row>,
    queued: Arc<Queued>,
    is_closing: Arc<AtomicBool>,
    jobs: Sender<Job>,
    folder: PathBuf,
    commits: Commits,
    writer: Option<JoinHandle<()>>,
    _lock: File,
}

impl SqliteLog {
    /// Opens or creates the log in a folder, and passes its content to `each`, in order.
    ///
    /// # Errors
    ///
    /// [`OpenError`] with the problem, its place, and the remedy.
    pub(crate) fn open(
        folder: &Path,
        options: &Options,
        each: impl FnMut(LogPart<'_>) -> Result<(), String> + Send,
    ) -> Result<Self, OpenError> {
        let lock = schema::lock(folder)?;
        let path = folder.join(FILE);
        let torn = wal::torn(&path);
        wal::warn(&path, torn);
        let mut connection = schema::open(&path, options.vfs.as_deref())?;
        #[cfg(test)]
        connection
            .execute_batch(options.pragmas)
            .expect("a test knows what SQLite takes");
        schema::prepare(&connection, &path)?;
        let reader = Reader::new(&connection, &path)?;
        let (id, last) = (reader.id, reader.last.0);
        let marker = folder.join(acknowledged::FILE);
        let mut acknowledged = Acknowledged::open(&marker, id).map_err(|source| {
            let path = marker.clone();
            OpenError::Folder { path, source }
        })?;
        if acknowledged.position() > last {
            return Err(OpenError::Lost {
                path,
                last,
                acknowledged: acknowledged.position(),
                marker,
                torn,
            });
        }

        recover::replay(&reader, each)?;
        // After a failed sync, the read data may be in the page cache alone. A checkpoint writes it again, which makes it
        // durable.
        let sqlite = |source| OpenError::Sqlite {
            path: path.clone(),
            source,
        };
        let room = Room {
            folder: folder.to_owned(),
            probe: options.probe,
        };
        let pages = options.checkpoint_pages();
        let checkpoints = Checkpoints::new(&mut connection, pages, room.clone()).map_err(sqlite)?;
        checkpoints.complete(&connection).map_err(sqlite)?;
        let problem = |source| OpenError::Folder {
            path: folder.to_owned(),
            source,
        };
        // A reader may have prevented the checkpoint, so the write-ahead log is synced as well.
        let wal = options.wal(&path).map_err(problem)?;
        wal.sync().map_err(problem)?;
        wal.sync_folder(folder).map_err(problem)?;
        acknowledged.advance(last);

        // Unbounded, since a bounded channel reserves its capacity even when idle; groups are counted instead.
        let (jobs, queue) = mpsc::channel();
        let committed = Committer::new(Commit::Upto(Position(last)));
        let commits = committed.subscribe();
        let queued = Arc::new(Queued::default());
        let is_closing = Arc::new(AtomicBool::new(false));
        let mut safe = Safe {
            committed,
            last,
            acknowledged,
            reserve: Reserve::new(folder, options.reserve_bytes),
        };
        safe.tell();
        let safe = Arc::new(Mutex::new(safe));
        let writer = Writer {
            connection,
            checkpoints,
            queue,
            waiting: None,
            queued: queued.clone(),
            is_closing: is_closing.clone(),
            syncs: Syncs::start(
                wal,
                options.few(),
                safe.clone(),
                queued.clone(),
                options.metrics.clone(),
            )
            .map_err(problem)?,
            safe,
            room,
            packer: Packer::default(),
            metrics: options.metrics.clone(),
        };
        let writer = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(|| writer.run())
            .map_err(problem)?;
        Ok(Self {
            id,
            next: last + 1,
            group: Vec::new(),
            queued,
            is_closing,
            jobs,
            folder: folder.to_owned(),
            commits,
            writer: Some(writer),
            _lock: lock,
        })
    }
}

impl SqliteLog {
    /// A handle for compaction while the log is in use.
    pub(crate) fn upkeep(&self) -> Upkeep {
        Upkeep {
            folder: self.folder.clone(),
            jobs: self.jobs.clone(),
        }
    }
}

impl EventLog for SqliteLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn next_position(&self) -> Position {
        Position(self.next)
    }

    fn admit(&self) -> Result<(), Error> {
        self.commits.latest().admit()?;
        self.admit_accepted()
    }

    fn admit_accepted(&self) -> Result<(), Error> {
        self.commits.latest().admit_accepted()?;
        match self.queued.bytes() > QUEUE_BYTES || self.group.len() > QUEUE {
            true => Err(Error::behind()),
            false => Ok(()),
        }
    }

    fn append(&mut self, record: Record) {
        debug_assert_eq!(record.position.0, self.next);
        self.next += 1;
        self.group.push(Row::from(record));
    }

    fn commit(&mut self) {
        // A group that does not fit goes with the next one; `admit` limits the growth.
        if self.group.is_empty() || self.queued.groups() >= QUEUE {
            return;
        }
        let group = std::mem::take(&mut self.group);
        self.queued.add(&group);
        if self.jobs.send(Job::Group(group)).is_err() {
            // The writer has failed; `admit` reports it.
            self.queued.lost();
        }
    }

    fn abandon(&mut self) {
        self.group.clear();
    }

    fn commits(&self) -> Commits {
        self.commits.clone()
    }

    fn close(&mut self) -> Option<JoinHandle<()>> {
        self.is_closing.store(true, Ordering::Relaxed);
        self.commit();
        let rest = std::mem::take(&mut self.group);
        self.queued.add(&rest);
        let _ = self.jobs.send(Job::Group(rest));
        let _ = self.jobs.send(Job::End);
        self.writer.take()
    }

    fn queued_bytes(&self) -> usize {
        self.queued.bytes()
    }

    fn history(&self) -> Arc<dyn History> {
        Arc::new(Stored {
            folder: self.folder.clone(),
        })
    }
}

impl Drop for SqliteLog {
    /// [Closes](EventLog::close) the log, and waits for its thread.
    fn drop(&mut self) {
        if let Some(writer) = self.close() {
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod growth_tests;
#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod speed;
