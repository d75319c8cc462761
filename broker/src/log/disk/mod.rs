//! Simulated disk faults: lost unsynced writes, failing syncs, full disks, flipped bits.

mod failing;
mod flips;
mod power;
mod simulated;
mod vfs;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{Message, Role},
    agenthub::{AgentEvent, agent_event::Payload},
};

use self::{simulated::Disk, vfs::Mounted};
use super::{
    sqlite::{Synced, Wal},
    *,
};

/// Timeout of operations of the log's thread.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder on a simulated disk. Files that SQLite does not use are on the real one.
struct Machine {
    folder: tempfile::TempDir,
    mounted: Mounted,
    disk: Arc<Disk>,
    /// True if anything is synced.
    syncs: bool,
    /// True if SQLite syncs anything.
    sqlite_syncs: bool,
    checkpoint_pages: i32,
    few: usize,
    probe: fn(&Path) -> std::io::Result<()>,
}

impl Machine {
    fn new(disk: Disk) -> Self {
        let disk = Arc::new(disk);
        Self {
            folder: folder(),
            mounted: Mounted::new(disk.clone()),
            disk,
            syncs: true,
            sqlite_syncs: true,
            checkpoint_pages: 20,
            few: Options::default().few,
            probe: Options::default().probe,
        }
    }

    fn disk(&self) -> &Disk {
        &self.disk
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The log, with its id and records.
    fn open(&self) -> Result<(SqliteLog, Vec<Record>), OpenError> {
        let (disk, syncs) = (self.disk.clone(), self.syncs);
        let sync = move |what| match (syncs, what) {
            (true, Synced::File) => disk.sync_wal(),
            (true, Synced::Folder) => disk.sync_folder(),
            (false, _) => Ok(()),
        };
        let options = Options {
            wal: Some(Wal::Simulated(Arc::new(sync))),
            vfs: Some(self.mounted.name()),
            reserve_bytes: 1,
            pragmas: match self.syncs && self.sqlite_syncs {
                true => "",
                false => "PRAGMA synchronous = OFF",
            },
            checkpoint_pages: self.checkpoint_pages,
            few: self.few,
            probe: self.probe,
            metrics: Arc::default(),
        };
        let mut records = Vec::new();
        let log = SqliteLog::open(self.folder(), &options, |found| {
            if let LogPart::Record(record) = found {
                records.push(record.clone());
            }
            Ok(())
        })?;
        Ok((log, records))
    }
}

/// A folder in memory if possible: real syncs do not matter here.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a folder")
}

/// A random text of this size that does not compress.
pub(super) fn noise(bytes: usize, rng: &mut fastrand::Rng) -> String {
    let letters = std::iter::repeat_with(|| rng.alphanumeric());
    letters.take(bytes).collect()
}

fn append(log: &mut SqliteLog, texts: impl IntoIterator<Item = String>) -> Vec<Record> {
    let append = |text: String| {
        let published = Published {
            event: Arc::new(
                AgentEvent {
                    payload: Some(Payload::Message(Message::new(Role::User, text))),
                    ..Default::default()
                }
                .into(),
            ),
            route: crate::routing::Route::Everyone,
            assignee: None,
            passes_by: false,
            key: None,
        };
        let entry = Entry::Published(published);
        let record = Record {
            position: log.next_position(),
            time: SystemTime::UNIX_EPOCH,
            namespace: "default".to_owned(),
            principal: "someone".to_owned(),
            order: entry.order(),
            entry,
        };
        log.append(record.clone());
        record
    };
    texts.into_iter().map(append).collect()
}

/// Waits until the commits of the log satisfy the predicate.
fn wait(log: &SqliteLog, mut what: impl FnMut(&Commit) -> bool) -> Commit {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let mut commits = log.commits();
    let until = async {
        loop {
            let latest = commits.latest().clone();
            if what(&latest) {
                return latest;
            }
            commits.next().await.expect("the log is there");
        }
    };
    let waited = async { tokio::time::timeout(PATIENCE, until).await };
    runtime.block_on(waited).expect("in time")
}

/// Appends one group and waits until it is durable; if the log fails, returns the reason.
fn publish(log: &mut SqliteLog, text: &str) -> Result<Record, String> {
    let record = append(log, [text.to_owned()]).remove(0);
    log.commit();
    let said = wait(log, |c| c.position().is_none_or(|p| p >= record.position));
    match said {
        Commit::Failed(reason) => Err(reason),
        _ => Ok(record),
    }
}
