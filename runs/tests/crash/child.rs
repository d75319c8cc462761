//! The killed process.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agenthub_runs::{
    Command, Driver, Journal, RunEvent, RunId,
    journal::{Claim, JournalDecorator, JournalError, OpenedRun, SqliteJournal},
};
use async_trait::async_trait;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::sync::watch;

use super::{
    examples::{Traced, example},
    traces::{JOURNAL, Pen},
};

pub(super) const FOLDER: &str = "RUNS_CRASH_FOLDER";
pub(super) const EXAMPLE: &str = "RUNS_CRASH_EXAMPLE";
pub(super) const KILL: &str = "RUNS_CRASH_KILL";

pub(super) fn example_run() -> RunId {
    RunId::new("example")
}

/// Not a test: the child's main function.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drives_an_example() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let folder = PathBuf::from(folder);
    let name = std::env::var(EXAMPLE).expect("it is set with the folder");
    let journal = KillingJournal::open(&folder);
    let (first, strategy) = example(&name);
    let driver = Driver::new(Arc::new(journal), "one");
    let opened = driver.open(example_run(), "owner", Some(first));
    let hand = opened.await.expect("it is free");
    let commands = watch::Sender::new(Command::Go);
    let world = Arc::new(Traced::new(&folder));
    hand.drive(&*strategy, world, commands.subscribe())
        .await
        .expect("it ends");
}

/// A journal that kills its own process right before or right after a write.
#[derive(Debug)]
struct KillingJournal {
    inner: SqliteJournal,
    writes: AtomicU64,
    pen: Pen,
    /// Number of the write, and whether it happens.
    kill: Option<(u64, bool)>,
}

impl KillingJournal {
    fn open(folder: &Path) -> Self {
        let kill = std::env::var(KILL).ok().map(|kill| {
            let (write, moment) = kill.split_once(' ').expect("a number and a moment");
            (write.parse().expect("a number"), moment == "After")
        });
        Self {
            inner: SqliteJournal::open(folder.join(JOURNAL)).expect("it opens"),
            writes: AtomicU64::new(0),
            pen: Pen::new(folder),
            kill,
        }
    }

    async fn around<T>(&self, write: impl Future<Output = T>) -> T {
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if self.kill == Some((number, false)) {
            die();
        }
        let written = write.await;
        if self.kill == Some((number, true)) {
            die();
        }
        self.pen.write(&serde_json::json!({ "wrote": number }));
        written
    }
}

fn die() {
    kill(Pid::this(), Signal::SIGKILL).expect("a process may kill itself");
    // The signal ends the other threads; this one must not continue.
    std::thread::sleep(Duration::from_secs(60));
}

#[async_trait]
impl JournalDecorator for KillingJournal {
    fn inner(&self) -> &dyn Journal {
        &self.inner
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        self.around(Journal::open(&self.inner, run, owner, claim, first))
            .await
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        self.around(self.inner.append(run, epoch, after, events))
            .await
    }
}
