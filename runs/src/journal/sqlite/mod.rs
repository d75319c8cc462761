//! A journal in a file: SQLite with write-ahead log and `synchronous=FULL`. One thread writes, with group commit;
//! another reads on its own connection. Several processes of one machine may use the file.

mod calls;
mod reads;
#[cfg(test)]
mod releases;
mod schema;
mod space;
#[cfg(test)]
mod tests;
mod worker;

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;

use rusqlite::Connection;
pub use schema::OpenError;

use self::{
    calls::{OpenRequest, OwnedClaim},
    worker::{Access, Done, Worker},
};
use super::{
    Claim, Entry, Filter, Journal, JournalError, ListedRun, OpenedRun,
    listing::Heading,
    rows::{self, Encoded},
};
use crate::{event::RunEvent, id::RunId};

/// Runs compacted or deleted per transaction.
const FORGOTTEN_AT_ONCE: u32 = 64;

/// A journal in a file. Its clock is this machine's. Dropping it waits for queued writes.
#[derive(Debug)]
pub struct SqliteJournal {
    /// `None` if other processes write the file.
    writer: Option<Worker>,
    reader: Worker,
    path: PathBuf,
}

impl SqliteJournal {
    /// Opens the journal in this file; creates the file and its folder if missing. Blocks while the file is opened, for
    /// at most 5 s if another process keeps it locked.
    ///
    /// # Errors
    ///
    /// The reason why the file or its folder cannot be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let writer = schema::prepare(path)?;
        let reader = schema::connect(path)?;
        Ok(Self {
            writer: Some(start(writer, path, Access::Write)?),
            reader: start(reader, path, Access::Read)?,
            path: path.to_owned(),
        })
    }

    /// Opens a journal that other processes write, for [`Journal::list`] and [`Journal::read`] alone: every other call
    /// is [`JournalError::Unavailable`]. Changes nothing in the file.
    ///
    /// # Errors
    ///
    /// The file is missing or cannot be used.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let reader = schema::connect_to_read(path)?;
        Ok(Self {
            writer: None,
            reader: start(reader, path, Access::Read)?,
            path: path.to_owned(),
        })
    }

    /// Compacts or deletes old runs in batches, so that other writers get their turn, then shrinks the file. Returns
    /// the number of runs.
    async fn in_portions(
        &self,
        owner: &str,
        age: Duration,
        portion: fn(&Connection, &str, Duration, u32, u64) -> Done<u64>,
    ) -> Result<u64, JournalError> {
        let mut count = 0;
        loop {
            let owner = owner.to_owned();
            let some = self
                .writer()?
                .run(move |sql| portion(sql, &owner, age, FORGOTTEN_AT_ONCE, now_ms()))
                .await?;
            count += some;
            if some < u64::from(FORGOTTEN_AT_ONCE) {
                break;
            }
        }
        if let Err(error) = self.give_back().await {
            tracing::warn!(%error, "space of runs that were forgotten is not given back yet");
        }
        Ok(count)
    }

    /// Returns free pages to the file system if there are many: in batches, so that other writers get their turn.
    async fn give_back(&self) -> Result<(), JournalError> {
        let writer = self.writer()?;
        if writer.run_alone(space::free_pages).await? < space::MANY {
            return Ok(());
        }
        while writer.run_alone(space::give_back).await? > 0 {}
        writer.run_alone(space::shorten).await
    }

    fn writer(&self) -> Result<&Worker, JournalError> {
        self.writer.as_ref().ok_or_else(|| {
            let path = self.path.display();
            JournalError::Unavailable(format!("{path} was opened only to be read"))
        })
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        let wanted = OpenRequest {
            owner: owner.to_owned(),
            claimed: claimed(run, claim),
            first: first
                .first()
                .map(|event| (Encoded::all(first), Heading::of(event))),
        };
        let taken = self
            .writer()?
            .run(move |sql| calls::open(sql, &wanted, now_ms()));
        let taken = taken.await?;
        let entries = rows::without_progress(run, taken.rows)?;
        match taken.missing {
            Some(seq) => Err(rows::missing(run, seq)),
            None => Ok(OpenedRun {
                epoch: taken.epoch,
                entries,
                last: taken.last,
                progress: taken.progress,
                is_new: taken.is_new,
            }),
        }
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        let run = run.clone();
        let events = Encoded::all(events);
        self.writer()?
            .run(move |sql| calls::append(sql, &run, epoch, after, &events, now_ms()))
            .await
    }

    async fn add(&self, run: &RunId, owner: &str, events: &[RunEvent]) -> Result<(), JournalError> {
        let (run, owner) = (run.clone(), owner.to_owned());
        let heading = events.first().map(Heading::of).unwrap_or_default();
        let events = Encoded::all(events);
        self.writer()?
            .run(move |sql| calls::add_whole(sql, &run, &owner, &heading, &events, now_ms()))
            .await
    }

    async fn close(
        &self,
        run: &RunId,
        claim: Claim<'_>,
        end: &RunEvent,
    ) -> Result<(), JournalError> {
        let (claimed, end) = (claimed(run, claim), Encoded::new(end));
        self.writer()?
            .run(move |sql| calls::close(sql, &claimed, end, now_ms()))
            .await
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError> {
        let run = run.clone();
        self.writer()?
            .run(move |sql| calls::renew(sql, &run, epoch, lease, now_ms()))
            .await
    }

    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), JournalError> {
        let run = run.clone();
        self.writer()?
            .run(move |sql| calls::release(sql, &run, epoch, now_ms()))
            .await
    }

    async fn take_in(&self, run: &RunId, task: &str, result: &str) -> Result<bool, JournalError> {
        let (run, task, result) = (run.clone(), task.to_owned(), result.to_owned());
        self.writer()?
            .run(move |sql| calls::take_in(sql, &run, &task, &result))
            .await
    }

    async fn taken_in(&self, run: &RunId, task: &str) -> Result<Option<String>, JournalError> {
        let (run, task) = (run.clone(), task.to_owned());
        self.reader
            .run(move |sql| reads::taken_in(sql, &run, &task))
            .await
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        let id = run.clone();
        let read = self
            .reader
            .run(move |sql| reads::read(sql, &id, after, limit));
        rows::entries(run, after, read.await?)
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        let (owner, driver) = (owner.to_owned(), driver.to_owned());
        self.reader
            .run(move |sql| reads::adoptable(sql, &owner, &driver, limit, now_ms()))
            .await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError> {
        let before = filter.before_number()?;
        let filter = filter.clone();
        self.reader
            .run(move |sql| reads::list(sql, &filter, before))
            .await
    }

    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        self.in_portions(owner, age, calls::condense).await
    }

    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        self.in_portions(owner, age, calls::forget).await
    }
}

fn start(connection: Connection, path: &Path, access: Access) -> Result<Worker, OpenError> {
    Worker::start(connection, path, access).map_err(|source| OpenError::Folder {
        path: path.to_owned(),
        source,
    })
}

fn claimed(run: &RunId, claim: Claim<'_>) -> OwnedClaim {
    OwnedClaim {
        run: run.clone(),
        driver: claim.driver.to_owned(),
        lease: claim.lease,
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
