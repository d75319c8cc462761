//! The log in SQLite: write-ahead log, `synchronous=FULL`, one row for each record, one writer thread that commits what has come
//! meanwhile in one transaction. Each row carries a checksum; what is damaged is named, never skipped.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use tokio::sync::watch;

use super::{Commit, Entry, EventLog, LogId, Position, Record, codec, window::Window};
use crate::Error;

/// The database, beside it SQLite's own `-wal` and `-shm`.
pub(crate) const FILE: &str = "log.db";
/// Held as long as a hub uses the folder.
const LOCK: &str = "hub.lock";
/// Given up when the disk is full, so that what was accepted can still be written.
const RESERVE: &str = "reserve";
const RESERVE_BYTES: u64 = 32 * 1024 * 1024;
/// Groups that wait for the writer.
const QUEUE: usize = 16_384;
/// Bytes that wait for the writer before publishes are refused. Less than the reserve.
const QUEUE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of one transaction, unless one group alone is larger.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How long the writer waits before it tries again on a full disk.
const FULL_PAUSE: Duration = Duration::from_millis(200);
/// Changes when the tables do.
const SCHEMA: i64 = 1;

/// The log cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another hub has the folder.
    #[error("{} is in use by another hub; stop that one, or choose another folder with --data", .0.display())]
    Locked(PathBuf),
    /// The folder or a file in it cannot be used.
    #[error("cannot use {}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// SQLite refuses.
    #[error("cannot read {}", path.display())]
    Sqlite {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: rusqlite::Error,
    },
    /// A record is damaged or missing.
    #[error(
        "{} is damaged at position {position}: {reason}. Restore a backup; or keep what stands before it with `agenthub log export --until {}`",
        path.display(), position.saturating_sub(1)
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// The position of the first record that cannot be trusted.
        position: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// It was written by a later release.
    #[error("{} was written by a newer agenthub (schema {found}, this one knows {SCHEMA}): use that one", path.display())]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct SqliteLog {
    id: LogId,
    next: u64,
    window: Window,
    group: Vec<Row>,
    queued: Arc<AtomicUsize>,
    groups: Option<SyncSender<Vec<Row>>>,
    commits: watch::Receiver<Commit>,
    writer: Option<JoinHandle<()>>,
    _lock: File,
}

/// A record as it is written.
#[derive(Debug)]
struct Row {
    position: u64,
    time_us: i64,
    kind: i64,
    namespace: String,
    order: String,
    principal: String,
    payload: Vec<u8>,
}

impl SqliteLog {
    /// Opens the log in a folder, or makes one, and hands every record in it to `each`, oldest first.
    ///
    /// # Errors
    ///
    /// [`OpenError`], which says what is wrong, where, and what to do.
    pub(crate) fn open(
        folder: &Path,
        max_records: usize,
        max_bytes: usize,
        mut each: impl FnMut(LogId, &Record),
    ) -> Result<Self, OpenError> {
        let lock = lock(folder)?;
        let path = folder.join(FILE);
        let sqlite = |source| OpenError::Sqlite {
            path: path.clone(),
            source,
        };
        let connection = Connection::open(&path).map_err(sqlite)?;
        configure(&connection).map_err(sqlite)?;
        let id = prepare(&connection, &path)?;

        let mut window = Window::new(id, max_records, max_bytes);
        let mut next = 1;
        read(&connection, &path, Position(0), |record| {
            next = record.position.0 + 1;
            each(id, &record);
            window.push(record);
            true
        })?;

        reserve(&folder.join(RESERVE));
        let (groups, queue) = sync_channel(QUEUE);
        let (committed, commits) = watch::channel(Commit::Upto(Position(next - 1)));
        let queued = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            connection,
            queue,
            queued: queued.clone(),
            committed,
            reserve: folder.join(RESERVE),
        };
        let writer = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(|| writer.run())
            .map_err(|source| OpenError::Folder {
                path: folder.to_owned(),
                source,
            })?;
        Ok(Self {
            id,
            next,
            window,
            group: Vec::new(),
            queued,
            groups: Some(groups),
            commits,
            writer: Some(writer),
            _lock: lock,
        })
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
        match &*self.commits.borrow() {
            Commit::Upto(_) => {}
            Commit::Full(_) => {
                return Err(Error::ResourceExhausted(
                    "the disk of the hub's log is full: make room in its data folder; nothing is accepted until then".to_owned(),
                ));
            }
            Commit::Failed(reason) => {
                return Err(Error::Unavailable(format!(
                    "the hub's log has failed ({reason}): the hub has to be started again"
                )));
            }
        }
        if self.queued.load(Ordering::Relaxed) > QUEUE_BYTES || self.group.len() > QUEUE {
            return Err(Error::ResourceExhausted(
                "the hub's log is behind: publish again later".to_owned(),
            ));
        }
        Ok(())
    }

    fn append(&mut self, record: Record) {
        debug_assert_eq!(record.position.0, self.next);
        self.next += 1;
        self.group.push(Row::from(&record));
        self.window.push(record);
    }

    fn commit(&mut self) {
        if self.group.is_empty() {
            return;
        }
        let group = std::mem::take(&mut self.group);
        let bytes: usize = group.iter().map(Row::bytes).sum();
        let Some(groups) = &self.groups else { return };
        self.queued.fetch_add(bytes, Ordering::Relaxed);
        if let Err(TrySendError::Full(group)) = groups.try_send(group) {
            // It goes with the next one; `admit` keeps it from growing.
            self.queued.fetch_sub(bytes, Ordering::Relaxed);
            self.group = group;
        }
        // Once the writer has failed, `admit` says so.
    }

    fn commits(&self) -> watch::Receiver<Commit> {
        self.commits.clone()
    }

    fn after(&self, position: Position) -> Result<Box<dyn Iterator<Item = &Record> + '_>, Error> {
        Ok(Box::new(self.window.after(position)?))
    }
}

impl Drop for SqliteLog {
    /// Waits until everything that was appended is written.
    fn drop(&mut self) {
        self.commit();
        if let Some(groups) = self.groups.take() {
            let _ = groups.send(std::mem::take(&mut self.group));
        }
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Row {
    fn bytes(&self) -> usize {
        const OVERHEAD: usize = 64;
        OVERHEAD
            + self.payload.len()
            + self.order.len()
            + self.namespace.len()
            + self.principal.len()
    }

    /// A checksum of everything in the row.
    fn sum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for number in [self.position.cast_signed(), self.time_us, self.kind] {
            hasher.update(&number.to_le_bytes());
        }
        for text in [&self.namespace, &self.order, &self.principal] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&self.payload);
        hasher.finalize()
    }

    fn record(&self) -> Result<Record, String> {
        let entry: Entry = codec::decode(&self.payload).map_err(|e| e.to_string())?;
        let since = Duration::from_micros(u64::try_from(self.time_us).unwrap_or(0));
        Ok(Record {
            position: Position(self.position),
            time: SystemTime::UNIX_EPOCH + since,
            namespace: self.namespace.clone(),
            principal: self.principal.clone(),
            order: self.order.as_str().into(),
            entry,
        })
    }
}

impl From<&Record> for Row {
    fn from(record: &Record) -> Self {
        let since = record
            .time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            position: record.position.0,
            time_us: i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            kind: codec::kind(&record.entry),
            namespace: record.namespace.clone(),
            order: record.order.to_string(),
            principal: record.principal.clone(),
            payload: codec::encode(&record.entry),
        }
    }
}

/// The thread that alone writes.
struct Writer {
    connection: Connection,
    queue: Receiver<Vec<Row>>,
    queued: Arc<AtomicUsize>,
    committed: watch::Sender<Commit>,
    reserve: PathBuf,
}

impl Writer {
    fn run(mut self) {
        while let Ok(first) = self.queue.recv() {
            let mut batch = first;
            let mut bytes: usize = batch.iter().map(Row::bytes).sum();
            while bytes < BATCH_BYTES {
                let Ok(group) = self.queue.try_recv() else {
                    break;
                };
                bytes += group.iter().map(Row::bytes).sum::<usize>();
                batch.extend(group);
            }
            if let Err(error) = self.commit(&batch) {
                tracing::error!(%error, "the log cannot be written: the hub has to be started again");
                self.committed
                    .send_replace(Commit::Failed(error.to_string()));
                return;
            }
            self.queued.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Writes a batch. A full disk is waited out; after any other failure what is on disk is not known, and nothing is tried again.
    fn commit(&mut self, batch: &[Row]) -> Result<(), rusqlite::Error> {
        let Some(last) = batch.last().map(|r| r.position) else {
            return Ok(());
        };
        loop {
            match self.transaction(batch) {
                Ok(()) => break,
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                    self.give_up_reserve(last)
                }
                Err(error) => return Err(error),
            }
        }
        let has_room = self.reserve.exists() || reserve(&self.reserve);
        let position = Position(last);
        self.committed.send_replace(if has_room {
            Commit::Upto(position)
        } else {
            Commit::Full(position)
        });
        Ok(())
    }

    fn transaction(&mut self, batch: &[Row]) -> Result<(), rusqlite::Error> {
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
                    row.order,
                    row.principal,
                    row.payload,
                    row.sum(),
                ])?;
            }
        }
        transaction.commit()
    }

    fn give_up_reserve(&self, last: u64) {
        if fs::remove_file(&self.reserve).is_err() {
            std::thread::sleep(FULL_PAUSE);
        }
        tracing::error!(
            "the disk of the hub's log is full: nothing more is accepted until there is room"
        );
        self.committed
            .send_replace(Commit::Full(Position(last.saturating_sub(1))));
    }
}

fn lock(folder: &Path) -> Result<File, OpenError> {
    let problem = |source| OpenError::Folder {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(problem)?;
    let file = File::create(folder.join(LOCK)).map_err(problem)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(OpenError::Locked(folder.to_owned())),
        Err(fs::TryLockError::Error(source)) => Err(problem(source)),
    }
}

fn configure(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "locking_mode", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    connection.set_prepared_statement_cache_capacity(8);
    Ok(())
}

/// Makes the tables where there are none. Returns the log's id.
fn prepare(connection: &Connection, path: &Path) -> Result<LogId, OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |r| r.get(0))
        .map_err(sqlite)?;
    if found > SCHEMA {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found,
        });
    }
    if found == 0 {
        let id = LogId::random();
        connection
            .execute_batch(&format!(
                "BEGIN;
                 CREATE TABLE log (id INTEGER NOT NULL);
                 INSERT INTO log VALUES ({});
                 CREATE TABLE events (
                     position INTEGER PRIMARY KEY,
                     time_us INTEGER NOT NULL,
                     kind INTEGER NOT NULL,
                     namespace TEXT NOT NULL,
                     order_key TEXT NOT NULL,
                     principal TEXT NOT NULL,
                     payload BLOB NOT NULL,
                     sum INTEGER NOT NULL
                 );
                 PRAGMA user_version = {SCHEMA};
                 COMMIT;",
                id.number()
            ))
            .map_err(sqlite)?;
        return Ok(id);
    }
    let id: u32 = connection
        .query_row("SELECT id FROM log", [], |r| r.get(0))
        .map_err(sqlite)?;
    Ok(LogId::from_number(id))
}

/// Reads and checks the records after a position, oldest first, until `each` says no.
fn read(
    connection: &Connection,
    path: &Path,
    after: Position,
    mut each: impl FnMut(Record) -> bool,
) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let damaged = |position, reason: String| OpenError::Damaged {
        path: path.to_owned(),
        position,
        reason,
    };
    let mut statement = connection
        .prepare("SELECT position, time_us, kind, namespace, order_key, principal, payload, sum FROM events WHERE position > ? ORDER BY position")
        .map_err(sqlite)?;
    let mut rows = statement.query([after.0.cast_signed()]).map_err(sqlite)?;
    let mut expected = None;
    loop {
        let next = rows
            .next()
            .map_err(|e| damaged(expected.unwrap_or(after.0 + 1), e.to_string()))?;
        let Some(row) = next else { return Ok(()) };
        let get = |row: &rusqlite::Row<'_>| -> Result<(Row, u32), rusqlite::Error> {
            let found = Row {
                position: row.get::<_, i64>(0)?.cast_unsigned(),
                time_us: row.get(1)?,
                kind: row.get(2)?,
                namespace: row.get(3)?,
                order: row.get(4)?,
                principal: row.get(5)?,
                payload: row.get(6)?,
            };
            Ok((found, row.get(7)?))
        };
        let (row, sum) =
            get(row).map_err(|e| damaged(expected.unwrap_or(after.0 + 1), e.to_string()))?;
        if let Some(expected) = expected.filter(|e| *e != row.position) {
            return Err(damaged(
                expected,
                format!("the record is missing; the next one is {}", row.position),
            ));
        }
        if row.sum() != sum {
            return Err(damaged(
                row.position,
                "its checksum does not fit its content".to_owned(),
            ));
        }
        expected = Some(row.position + 1);
        let position = row.position;
        let record = row.record().map_err(|reason| damaged(position, reason))?;
        if !each(record) {
            return Ok(());
        }
    }
}

/// Makes the reserve file. Returns whether there was room for it.
fn reserve(path: &Path) -> bool {
    let made = File::create(path).and_then(|file| {
        // Real blocks, not a hole.
        let zeros = vec![0; 1024 * 1024];
        let mut left = RESERVE_BYTES;
        while left > 0 {
            io::Write::write_all(&mut &file, &zeros)?;
            left -= zeros.len() as u64;
        }
        file.sync_all()
    });
    if made.is_err() {
        let _ = fs::remove_file(path);
    }
    made.is_ok()
}

/// Opens the database of a folder for reading only, while a hub may be writing.
pub(crate) fn open_to_read(folder: &Path) -> Result<Connection, OpenError> {
    let path = folder.join(FILE);
    Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|source| OpenError::Sqlite { path, source })
}
