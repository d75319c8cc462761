//! Syncing of the write-ahead log. A thread syncs a commit while the next rows are inserted; the next commit waits for
//! it.

use std::{
    io,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::JoinHandle,
    time::Instant,
};

use super::{
    safe::{Safe, lock},
    wal::Wal,
    writer::Queued,
};
use crate::metrics::LogMetrics;

/// Below this many rows, syncing inline beats waking the thread.
pub(super) const FEW: usize = 16;

/// A commit that must be synced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Committed {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    /// Its last position.
    pub(super) last: u64,
}

/// Error: a sync has failed, and the content of the disk is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("disk I/O error: the write-ahead log is not synced: {0}")]
pub(super) struct Unsynced(String);

/// The syncing thread, see the module.
pub(super) struct Syncs {
    target: Arc<Target>,
    /// Maximum rows that are synced inline.
    few: usize,
    commits: Option<SyncSender<Committed>>,
    done: Receiver<Result<(), Unsynced>>,
    /// True while a sync is in progress.
    is_under_way: bool,
    thread: Option<JoinHandle<()>>,
}

/// Target of the syncs, and receiver of their results.
struct Target {
    wal: Wal,
    safe: Arc<Mutex<Safe>>,
    queued: Arc<Queued>,
    metrics: Arc<LogMetrics>,
}

impl Target {
    /// Syncs a commit, and reports it as durable.
    fn sync(&self, committed: Committed) -> Result<(), Unsynced> {
        let began = Instant::now();
        let synced = self.wal.sync();
        self.metrics.sync.observe_time(began.elapsed());
        match synced {
            Ok(()) => {
                lock(&self.safe).advance(committed.last);
                self.queued.safe(committed.bytes);
                Ok(())
            }
            Err(error) => {
                let error = Unsynced(error.to_string());
                lock(&self.safe).tell_failed(error.to_string());
                Err(error)
            }
        }
    }
}

impl Syncs {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The thread cannot be created.
    pub(super) fn start(
        wal: Wal,
        few: usize,
        safe: Arc<Mutex<Safe>>,
        queued: Arc<Queued>,
        metrics: Arc<LogMetrics>,
    ) -> io::Result<Self> {
        let target = Arc::new(Target {
            wal,
            safe,
            queued,
            metrics,
        });
        let (commits, coming) = sync_channel::<Committed>(1);
        let (tell, done) = sync_channel(1);
        let other = target.clone();
        let sync = move || {
            while let Ok(committed) = coming.recv() {
                if tell.send(other.sync(committed)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log-sync".to_owned());
        Ok(Self {
            target,
            few,
            commits: Some(commits),
            done,
            is_under_way: false,
            thread: Some(thread.spawn(sync)?),
        })
    }

    /// Syncs a commit: a large one in the background, a small one inline.
    ///
    /// # Errors
    ///
    /// [`Unsynced`], of this commit if it is small.
    pub(super) fn add(&mut self, committed: Committed) -> Result<(), Unsynced> {
        self.wait()?;
        if committed.rows <= self.few {
            return self.target.sync(committed);
        }
        let sent = self.commits.as_ref().map(|c| c.send(committed));
        self.is_under_way = matches!(sent, Some(Ok(())));
        match self.is_under_way {
            true => Ok(()),
            false => Err(ended()),
        }
    }

    /// Waits for the sync in progress.
    ///
    /// # Errors
    ///
    /// [`Unsynced`].
    pub(super) fn wait(&mut self) -> Result<(), Unsynced> {
        match std::mem::take(&mut self.is_under_way) {
            true => self.done.recv().unwrap_or_else(|_| Err(ended())),
            false => Ok(()),
        }
    }

    /// Checks the sync in progress, without waiting.
    ///
    /// # Errors
    ///
    /// [`Unsynced`].
    pub(super) fn look(&mut self) -> Result<(), Unsynced> {
        let done = match self.is_under_way {
            true => self.done.try_recv(),
            false => Ok(Ok(())),
        };
        self.is_under_way = done == Err(TryRecvError::Empty);
        match done {
            Ok(done) => done,
            Err(TryRecvError::Empty) => Ok(()),
            Err(TryRecvError::Disconnected) => Err(ended()),
        }
    }
}

fn ended() -> Unsynced {
    Unsynced("its thread has ended".to_owned())
}

impl Drop for Syncs {
    fn drop(&mut self) {
        self.commits = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
