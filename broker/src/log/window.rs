//! The latest events of a log, in memory, for rereading. What a mailbox still holds, the mailbox keeps.

use std::collections::VecDeque;

use prost::Message;

use super::{Entry, LogId, Position, Record};
use crate::Error;

#[derive(Debug)]
pub(crate) struct Window {
    id: LogId,
    /// Records of events only.
    records: VecDeque<Record>,
    bytes: usize,
    max_records: usize,
    max_bytes: usize,
    /// The latest event that has left.
    left: Position,
}

impl Window {
    /// An empty window that keeps so many events and bytes.
    pub(crate) fn new(id: LogId, max_records: usize, max_bytes: usize) -> Self {
        Self {
            id,
            records: VecDeque::new(),
            bytes: 0,
            max_records,
            max_bytes,
            left: Position(0),
        }
    }

    /// What came up to here is not kept.
    pub(crate) fn begin_after(&mut self, position: Position) {
        self.left = position;
    }

    /// Adds a record if it is one of an event; the oldest leave.
    pub(crate) fn push(&mut self, record: Record) {
        self.bytes += match size(&record) {
            None => return,
            Some(size) => size,
        };
        self.records.push_back(record);
        while self.records.len() > self.max_records || self.bytes > self.max_bytes {
            let Some(old) = self.records.pop_front() else {
                break;
            };
            self.bytes -= size(&old).unwrap_or_default();
            self.left = old.position;
        }
    }

    /// The events after `position`, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if events in between are no longer here.
    pub(crate) fn after(
        &self,
        position: Position,
    ) -> Result<impl Iterator<Item = &Record> + use<'_>, Error> {
        if position < self.left {
            return Err(Error::OutOfRange(format!(
                "the log no longer holds what came after {}; the oldest position that can be reread is {}",
                self.id.token(position),
                self.id.token(self.left),
            )));
        }
        let skip = self.records.partition_point(|r| r.position <= position);
        Ok(self.records.iter().skip(skip))
    }
}

/// What the record of an event weighs, in bytes.
fn size(record: &Record) -> Option<usize> {
    const OVERHEAD: usize = 256;
    match &record.entry {
        Entry::Published(published) => Some(OVERHEAD + published.event.encoded_len()),
        _ => None,
    }
}
