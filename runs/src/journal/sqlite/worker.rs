//! A thread with its own connection, and the bounded queue in front of it.

use std::{
    io,
    path::{Path, PathBuf},
    thread::{Builder, JoinHandle},
};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use crate::journal::JournalError;

/// Queued calls; callers wait while it is full.
const QUEUE: usize = 256;

/// Maximum calls per commit.
const GROUP: usize = 64;

/// A call: runs with the connection, or with the error that replaces it; the returned reply is given the result of the
/// commit.
type Call = Box<dyn FnOnce(Result<&Connection, JournalError>) -> Reply + Send>;
type Reply = Box<dyn FnOnce(Result<(), JournalError>) + Send>;

/// A call outside any transaction, which replies itself. A returned error stops all further writes.
type AloneCall = Box<dyn FnOnce(Result<&Connection, JournalError>) -> Option<JournalError> + Send>;

/// A queued call.
enum Job {
    /// Runs in a group commit.
    Together(Call),
    /// Runs outside any transaction.
    Alone(AloneCall),
}

/// Result of a call. SQLite errors are kept apart from errors of the journal.
pub(super) type Done<T> = Result<Result<T, JournalError>, rusqlite::Error>;

/// Handle of the thread. Dropping it waits for queued calls.
#[derive(Debug)]
pub(super) struct Worker {
    path: PathBuf,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Access mode of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Worker {
    pub(super) fn start(connection: Connection, path: &Path, access: Access) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let of = path.to_owned();
        let name = match access {
            Access::Read => "journal-reader",
            Access::Write => "journal-writer",
        };
        let thread = Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&connection, &of, queue, access))?;
        Ok(Self {
            path: path.to_owned(),
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Runs a call atomically within a group commit.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Connection) -> Done<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let path = self.path.clone();
        let (reply, answer) = oneshot::channel();
        let job = Job::Together(Box::new(move |connection| {
            let result = connection.and_then(|connection| apart(connection, &path, call));
            Box::new(move |committed| {
                // The caller may be gone.
                let _ = reply.send(result.and_then(|value| committed.map(|()| value)));
            })
        }));
        self.wait(job, answer).await
    }

    /// Runs a call outside any transaction.
    pub(super) async fn run_alone<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Connection) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, JournalError> {
        let path = self.path.clone();
        let (reply, answer) = oneshot::channel();
        let job = Job::Alone(Box::new(move |connection| {
            let mut lasting = None;
            let result = connection.and_then(|connection| {
                call(connection).map_err(|error| {
                    let said = unavailable(&path, &error);
                    lasting = is_lasting(&error).then(|| said.clone());
                    said
                })
            });
            // The caller may be gone.
            let _ = reply.send(result);
            lasting
        }));
        self.wait(job, answer).await
    }

    async fn wait<T>(
        &self,
        job: Job,
        answer: oneshot::Receiver<Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        let closed = || JournalError::Unavailable("it is closed".to_owned());
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(job).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(path = %self.path.display(), "the journal broke off");
        }
    }
}

fn work(connection: &Connection, path: &Path, mut queue: mpsc::Receiver<Job>, access: Access) {
    let mut broken = None;
    while let Some(first) = queue.blocking_recv() {
        let mut next = Some(first);
        while let Some(job) = next.take() {
            let mut group = match job {
                Job::Together(call) => vec![call],
                Job::Alone(call) => {
                    let usable = broken.clone().map_or(Ok(connection), Err);
                    broken = call(usable).or(broken);
                    break;
                }
            };
            while group.len() < GROUP
                && let Ok(job) = queue.try_recv()
            {
                match job {
                    Job::Together(call) => group.push(call),
                    alone @ Job::Alone(_) => {
                        next = Some(alone);
                        break;
                    }
                }
            }
            perform(connection, path, access, group, &mut broken);
        }
    }
}

/// Runs a group in one transaction.
fn perform(
    connection: &Connection,
    path: &Path,
    access: Access,
    group: Vec<Call>,
    broken: &mut Option<JournalError>,
) {
    let begin = match access {
        Access::Read => "BEGIN DEFERRED",
        Access::Write => "BEGIN IMMEDIATE",
    };
    let mut state = match broken {
        Some(error) => Err(error.clone()),
        None => connection
            .execute_batch(begin)
            .map_err(|error| unavailable(path, &error)),
    };
    let mut replies = Vec::with_capacity(group.len());
    for job in group {
        replies.push(job(state.clone().map(|()| connection)));
        if state.is_ok() && connection.is_autocommit() {
            let why = "a write failed, and with it those of the same moment";
            state = Err(JournalError::Unavailable(why.to_owned()));
        }
    }
    if state.is_ok() {
        state = connection.execute_batch("COMMIT").map_err(|error| {
            let error_of = unavailable(path, &error);
            if is_lasting(&error) {
                // The content on disk is unknown until the file is opened again.
                *broken = Some(error_of.clone());
            }
            error_of
        });
    }
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        *broken = Some(unavailable(path, &error));
    }
    for reply in replies {
        reply(state.clone());
    }
}

/// Runs one call in a savepoint, so that a failure leaves nothing of it.
fn apart<T>(
    connection: &Connection,
    path: &Path,
    call: impl FnOnce(&Connection) -> Done<T>,
) -> Result<T, JournalError> {
    let done = connection
        .execute_batch("SAVEPOINT call")
        .and_then(|()| call(connection));
    let is_kept = matches!(done, Ok(Ok(_)));
    let end = match is_kept {
        true => "RELEASE call",
        false => "ROLLBACK TO call; RELEASE call",
    };
    // A failure that ended the transaction took the savepoint with it.
    let ended = match connection.is_autocommit() {
        true => Ok(()),
        false => connection.execute_batch(end),
    };
    let result = done.map_err(|error| unavailable(path, &error))?;
    ended.map_err(|error| unavailable(path, &error))?;
    result
}

/// True for errors that stop the writer: after a failed sync the file may lack what the page cache holds.
fn is_lasting(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

fn unavailable(path: &Path, error: &rusqlite::Error) -> JournalError {
    let path = path.display();
    JournalError::Unavailable(match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => format!("the disk of {path} is full"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("{path} is locked by another process")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            format!("{path} is damaged: restore a copy of it")
        }
        _ => format!("{path}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[tokio::test]
    async fn nothing_is_written_after_the_disk_failed_outside_of_a_transaction() {
        let connection = Connection::open_in_memory().expect("there is memory");
        let worker = Worker::start(connection, Path::new("a"), Access::Write).expect("it starts");
        let failing = |code: i32| {
            worker.run_alone(move |_| {
                let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
                Err::<(), _>(error)
            })
        };
        let write = || worker.run(|connection| Ok(Ok(connection.is_autocommit())));
        failing(ffi::SQLITE_BUSY).await.expect_err("locked");
        assert_eq!(write().await, Ok(false), "a lock passes");
        let why = failing(ffi::SQLITE_IOERR_FSYNC).await.expect_err("broken");
        assert_eq!(write().await, Err(why.clone()));
        assert_eq!(failing(ffi::SQLITE_BUSY).await, Err(why));
    }
}
