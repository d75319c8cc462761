//! Syncing the write-ahead log. What was committed is synced by a thread of its own, while the next rows are inserted already; nothing
//! is committed before that is done.

use std::{
    fmt,
    fs::File,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use super::{safe::Safe, writer::Queued};

/// So few rows are inserted faster than another thread is woken.
pub(super) const FEW: usize = 16;

/// The write-ahead log, as far as it is synced.
#[derive(Clone)]
pub(crate) enum Wal {
    File(Arc<File>),
    /// What syncs it on a disk that is none.
    #[cfg(test)]
    Simulated(Arc<dyn Fn() -> io::Result<()> + Send + Sync>),
}

impl Wal {
    fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_all(),
            #[cfg(test)]
            Self::Simulated(sync) => sync(),
        }
    }
}

impl fmt::Debug for Wal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wal")
    }
}

/// What a commit has left to be synced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Committed {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    /// Its last position.
    pub(super) last: u64,
}

/// A sync has failed: what the disk holds is not known.
#[derive(Clone, Debug, thiserror::Error)]
#[error("disk I/O error: the write-ahead log is not synced: {0}")]
pub(super) struct Unsynced(String);

/// See the module's description.
pub(super) struct Syncs {
    disk: Arc<Disk>,
    /// Commits of so few rows are synced at once.
    few: usize,
    commits: Option<SyncSender<Committed>>,
    done: Receiver<Result<(), Unsynced>>,
    /// One was handed over, and it is not known yet what became of it.
    is_under_way: bool,
    thread: Option<JoinHandle<()>>,
}

struct Disk {
    wal: Wal,
    safe: Arc<Mutex<Safe>>,
    queued: Arc<Queued>,
}

impl Disk {
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

pub(super) fn lock(safe: &Mutex<Safe>) -> MutexGuard<'_, Safe> {
    safe.lock().unwrap_or_else(PoisonError::into_inner)
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
        let disk = Arc::new(Disk { wal, safe, queued });
        let (commits, coming) = sync_channel::<Committed>(1);
        let (tell, done) = sync_channel(1);
        let other = disk.clone();
        let sync = move || {
            while let Ok(committed) = coming.recv() {
                if tell.send(other.sync(committed)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log-sync".to_owned());
        Ok(Self {
            disk,
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
            return self.disk.sync(committed);
        }
        let sent = self.commits.as_ref().map(|c| c.send(committed));
        self.is_under_way = matches!(sent, Some(Ok(())));
        match self.is_under_way {
            true => Ok(()),
            false => Err(Unsynced("its thread has ended".to_owned())),
        }
    }

    /// Waits for what is under way.
    ///
    /// # Errors
    ///
    /// [`Unsynced`].
    pub(super) fn wait(&mut self) -> Result<(), Unsynced> {
        if !std::mem::take(&mut self.is_under_way) {
            return Ok(());
        }
        let ended = || Unsynced("its thread has ended".to_owned());
        self.done.recv().unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Syncs {
    fn drop(&mut self) {
        self.commits = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
