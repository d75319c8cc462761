//! The log in memory: gone with the process. It keeps a window of the latest records for rereading; what a mailbox still
//! holds, the mailbox keeps.

use std::collections::VecDeque;

use prost::Message;

use super::{Entry, LogId, Position, Record};
use crate::Error;

#[derive(Debug)]
pub(crate) struct MemoryLog {
    id: LogId,
    next: u64,
    records: VecDeque<Record>,
    bytes: usize,
    max_records: usize,
    max_bytes: usize,
}

impl MemoryLog {
    /// An empty log that keeps so many records and bytes.
    pub(crate) fn new(max_records: usize, max_bytes: usize) -> Self {
        Self {
            id: LogId::random(),
            next: 1,
            records: VecDeque::new(),
            bytes: 0,
            max_records,
            max_bytes,
        }
    }

    pub(crate) fn id(&self) -> LogId {
        self.id
    }

    /// Where the next record will be.
    pub(crate) fn next_position(&self) -> Position {
        Position(self.next)
    }

    /// Adds a record at [`next_position`](Self::next_position). Once this returns, it is in the log.
    pub(crate) fn append(&mut self, record: Record) {
        debug_assert_eq!(record.position, self.next_position());
        self.next += 1;
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
    /// [`Error::OutOfRange`] if records in between are no longer kept.
    pub(crate) fn after(&self, position: Position) -> Result<impl Iterator<Item = &Record>, Error> {
        let first = self.records.front().map_or(self.next, |r| r.position.0);
        if position.0 + 1 < first {
            return Err(Error::OutOfRange(format!(
                "the log no longer holds what came after {}; the oldest position that can be reread is {}",
                self.id.token(position),
                self.id.token(Position(first - 1)),
            )));
        }
        let skip = usize::try_from(position.0 + 1 - first).unwrap_or(usize::MAX);
        Ok(self.records.iter().skip(skip))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn log(max_records: usize, records: u64) -> MemoryLog {
        let mut log = MemoryLog::new(max_records, usize::MAX);
        for _ in 0..records {
            log.append(Record {
                position: log.next_position(),
                time: SystemTime::UNIX_EPOCH,
                namespace: String::new(),
                principal: String::new(),
                order: "".into(),
                entry: Entry::Unregistered { agent: "a".into() },
            });
        }
        log
    }

    fn positions(log: &MemoryLog, after: u64) -> Option<Vec<u64>> {
        let records = log.after(Position(after)).ok()?;
        Some(records.map(|r| r.position.0).collect())
    }

    #[test]
    fn rereads_what_it_keeps_and_says_what_it_does_not() {
        let log = log(3, 5);
        assert_eq!(positions(&log, 2), Some(vec![3, 4, 5]));
        assert_eq!(positions(&log, 4), Some(vec![5]));
        assert_eq!(positions(&log, 5), Some(vec![]));
        assert_eq!(positions(&log, 99), Some(vec![]));
        assert_eq!(positions(&log, 1), None);
    }

    #[test]
    fn a_position_comes_back_as_it_went() {
        let id = LogId::random();
        assert_eq!(id.position(&id.token(Position(7))), Ok(Position(7)));
        assert!(matches!(
            id.position("garbage"),
            Err(Error::InvalidArgument(_))
        ));
        let other = LogId(id.0.wrapping_add(1));
        assert!(matches!(
            other.position(&id.token(Position(7))),
            Err(Error::OutOfRange(_))
        ));
    }
}
