//! The thread that alone writes: it commits what has come meanwhile in one transaction.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::Receiver,
    },
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, params};
use tokio::sync::watch;

use super::{reserve, row::Row};
use crate::log::{Commit, Position};

/// Bytes of one transaction, unless one group alone is larger.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How long the writer waits before it tries again on a full disk.
const FULL_PAUSE: Duration = Duration::from_millis(200);

/// The thread that alone writes.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) queue: Receiver<Vec<Row>>,
    /// Bytes that wait in the queue.
    pub(super) queued: Arc<AtomicUsize>,
    pub(super) committed: watch::Sender<Commit>,
    /// The reserve file.
    pub(super) reserve: PathBuf,
}

impl Writer {
    pub(super) fn run(mut self) {
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
        let has_room = self.reserve.exists() || reserve::make(&self.reserve);
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
        if std::fs::remove_file(&self.reserve).is_err() {
            std::thread::sleep(FULL_PAUSE);
        }
        tracing::error!(
            "the disk of the hub's log is full: nothing more is accepted until there is room"
        );
        self.committed
            .send_replace(Commit::Full(Position(last.saturating_sub(1))));
    }
}
