//! The latest records of a log, in memory, for rereading. What a mailbox still holds, the mailbox keeps.

use std::collections::VecDeque;

use prost::Message;

use super::{Entry, LogId, Position, Record};
use crate::Error;

#[derive(Debug)]
pub(crate) struct Window {
    id: LogId,
    records: VecDeque<Record>,
    bytes: usize,
    max_records: usize,
    max_bytes: usize,
    /// The position after the latest record.
    next: u64,
}

impl Window {
    /// An empty window that keeps so many records and bytes.
    pub(crate) fn new(id: LogId, max_records: usize, max_bytes: usize) -> Self {
        Self {
            id,
            records: VecDeque::new(),
            bytes: 0,
            max_records,
            max_bytes,
            next: 1,
        }
    }

    /// Adds a record; the oldest leave.
    pub(crate) fn push(&mut self, record: Record) {
        self.next = record.position.0 + 1;
        self.bytes += size(&record);
        self.records.push_back(record);
        while self.records.len() > self.max_records || self.bytes > self.max_bytes {
            let Some(old) = self.records.pop_front() else {
                break;
            };
            self.bytes -= size(&old);
        }
    }

    /// The records after `position`, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if records in between are no longer here.
    pub(crate) fn after(
        &self,
        position: Position,
    ) -> Result<impl Iterator<Item = &Record> + use<'_>, Error> {
        let first = self.first();
        if position.0 + 1 < first {
            return Err(Error::OutOfRange(format!(
                "the log no longer holds what came after {}; the oldest position that can be reread is {}",
                self.id.token(position),
                self.id.token(Position(first - 1)),
            )));
        }
        let skip = self.records.partition_point(|r| r.position <= position);
        Ok(self.records.iter().skip(skip))
    }

    /// The position of the oldest record here.
    fn first(&self) -> u64 {
        self.records.front().map_or(self.next, |r| r.position.0)
    }
}

/// What a record weighs, in bytes.
fn size(record: &Record) -> usize {
    const OVERHEAD: usize = 256;
    OVERHEAD
        + match &record.entry {
            Entry::Published(published) => published.event.encoded_len(),
            Entry::Registered(registration) => registration.card.encoded_len(),
            Entry::Unregistered { .. } | Entry::Subscribed { .. } | Entry::Acknowledged { .. } => 0,
        }
}
