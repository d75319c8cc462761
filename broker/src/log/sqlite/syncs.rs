//! Syncing the write-ahead log. What was committed is synced by a thread of its own, while the next rows are inserted already; nothing
//! is committed before that is done.

use std::{
    io,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::JoinHandle,
};

use super::{
    safe::{Safe, lock},
    wal::Wal,
    writer::Queued,
};

/// So few rows are inserted faster than another thread is woken.
pub(super) const FEW: usize = 16;

/// What a commit has left to be synced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Committed {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    /// Its last position.
    pub(super) last: u64,
}

/// A sync has failed: what the disk holds is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("disk I/O error: the write-ahead log is not synced: {0}")]
pub(super) struct Unsynced(String);

/// See the module's description.
pub(super) struct Syncs {
    target: Arc<Target>,
    /// Commits of so few rows are synced at once.
    few: usize,
    commits: Option<SyncSender<Committed>>,
    done: Receiver<Result<(), Unsynced>>,
    /// One was handed over, and it is not known yet what became of it.
    is_under_way: bool,
    thread: Option<JoinHandle<()>>,
}

/// What is synced, and who hears of it.
struct Target {
    wal: Wal,
    safe: Arc<Mutex<Safe>>,
    queued: Arc<Queued>,
}

impl Target {
    /// Makes a commit safe, and says so.
    fn sync(&self, committed: Committed) -> Result<(), Unsynced> {
        match self.wal.sync() {
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
    /// There is no room for one.
    pub(super) fn start(
        wal: Wal,
        few: usize,
        safe: Arc<Mutex<Safe>>,
        queued: Arc<Queued>,
    ) -> io::Result<Self> {
        let target = Arc::new(Target { wal, safe, queued });
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

    /// Makes a commit safe: a large one meanwhile, a small one at once.
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

    /// Waits for what is under way.
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

    /// Looks what became of what is under way, without waiting for it.
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
