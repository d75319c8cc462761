//! The log in SQLite: write-ahead log, one row for each record, one writer thread that commits what has come meanwhile in one
//! transaction, and another one that syncs that before anybody is told of it. Each row carries a checksum, and one row says where the
//! log begins and ends; what is damaged or missing is named, never skipped.

mod acknowledged;
mod batch;
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
use crate::Error;

pub(crate) use ended::{Keeping, Segment};
pub(crate) use pages::Pages;
pub(crate) use read::{Beside, Found, Reader, beside, copy};
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

/// The database, beside it SQLite's own `-wal` and `-shm`.
pub(crate) const FILE: &str = "log.db";
/// Groups that wait for the writer.
const QUEUE: usize = 16_384;
/// Bytes that wait for the writer before publishes are refused. Less than the reserve.
const QUEUE_BYTES: usize = 16 * 1024 * 1024;

/// How the log is kept.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The layer through which SQLite reaches its files, if it is not the usual one.
    pub(crate) vfs: Option<String>,
    /// Bytes of the file that is given up when the disk is full.
    pub(crate) reserve_bytes: u64,
    /// How it is found out whether a quota is used up.
    pub(crate) probe: Probe,
    /// What a test does to the settings of SQLite.
    #[cfg(test)]
    pub(crate) pragmas: &'static str,
    /// How a test syncs the write-ahead log.
    #[cfg(test)]
    pub(crate) wal: Option<Wal>,
    /// Rows that are synced at once.
    #[cfg(test)]
    pub(crate) few: usize,
    /// Pages of the write-ahead log from which on they are moved into the database.
    #[cfg(test)]
    pub(crate) checkpoint_pages: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            vfs: None,
            reserve_bytes: 32 * 1024 * 1024,
            probe: room::probe,
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

/// See the module's description.
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
    /// Opens the log in a folder, or makes one, and hands over what it consists of, in order.
    ///
    /// # Errors
    ///
    /// [`OpenError`], which says what is wrong, where, and what to do.
    pub(crate) fn open(
        folder: &Path,
        options: &Options,
        each: impl FnMut(Found<'_>) -> Result<(), String> + Send,
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
        // After a sync that failed, what was read may be in the system's cache alone. Written again, it is safe.
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
        // Somebody who reads keeps pages from being moved.
        let wal = options.wal(&path).map_err(problem)?;
        wal.sync().map_err(problem)?;
        wal.sync_folder(folder).map_err(problem)?;
        acknowledged.advance(last);

        // What has its room from the start takes it when idle too: groups are counted instead.
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
            syncs: Syncs::start(wal, options.few(), safe.clone(), queued.clone())
                .map_err(problem)?,
            safe,
            room,
            packer: Packer::default(),
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
    /// A handle for what is done to the log while it is used.
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
        // What does not find room goes with the next one; `admit` keeps it from growing.
        if self.group.is_empty() || self.queued.groups() >= QUEUE {
            return;
        }
        let group = std::mem::take(&mut self.group);
        self.queued.add(&group);
        if self.jobs.send(Job::Group(group)).is_err() {
            // The writer has failed, as `admit` says.
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

    fn history(&self) -> Arc<dyn History> {
        Arc::new(Stored {
            folder: self.folder.clone(),
        })
    }
}

impl Drop for SqliteLog {
    /// [Closes](EventLog::close) the log, and waits for the end of that.
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
