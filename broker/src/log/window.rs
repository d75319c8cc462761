//! The latest events of a log in memory, for rereading. Events that a mailbox still holds are kept by the mailbox.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    Entry, LogId, Position, Record,
    history::{History, PAGE, Page, event, gone},
};
use crate::{Error, sealed::Sealed};

/// The window, see the module. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    id: LogId,
    max_records: usize,
    max_bytes: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug)]
struct Kept {
    /// Records of events only.
    records: VecDeque<Record>,
    bytes: usize,
    /// The latest event that was dropped.
    left: Position,
}

impl Window {
    /// An empty window that keeps this many events and bytes.
    pub(crate) fn new(id: LogId, max_records: usize, max_bytes: usize) -> Self {
        let kept = Kept {
            records: VecDeque::new(),
            bytes: 0,
            left: Position(0),
        };
        Self {
            id,
            max_records,
            max_bytes,
            kept: Arc::new(Mutex::new(kept)),
        }
    }

    /// Adds a record if it has an event; drops the oldest beyond the limits.
    pub(crate) fn push(&self, mut record: Record) {
        let Some(size) = size(&record) else { return };
        if let Entry::Published(published) = &mut record.entry {
            // Keeps the encoded form: few events are reread, and it takes a fraction of the decoded one's memory.
            let bytes = published.event.bytes().clone();
            published.event = Arc::new(Sealed::encoded(bytes));
        }
        let mut kept = self.kept();
        kept.bytes += size;
        kept.records.push_back(record);
        while kept.records.len() > self.max_records || kept.bytes > self.max_bytes {
            let Some(old) = kept.records.pop_front() else {
                break;
            };
            kept.bytes -= self::size(&old).unwrap_or_default();
            kept.left = old.position;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History for Window {
    fn page(&self, after: Position, upto: Position) -> Result<Page, Error> {
        let kept = self.kept();
        if after < kept.left {
            return Err(gone(self.id, after, kept.left));
        }
        let first = kept.records.partition_point(|r| r.position <= after);
        let rest = kept.records.range(first..);
        let events: Vec<Record> = rest
            .take_while(|r| r.position <= upto)
            .take(PAGE.0)
            .cloned()
            .collect();
        let is_full = events.len() == PAGE.0;
        let last = events.last().map(|r| r.position);
        Ok(Page {
            upto: last.filter(|_| is_full).unwrap_or(upto),
            events,
        })
    }

    fn oldest(&self) -> Result<Position, Error> {
        Ok(self.kept().left)
    }

    fn at(&self, positions: &[Position]) -> Result<Vec<(Position, Arc<Sealed>)>, Error> {
        let kept = self.kept();
        let found = positions.iter().filter_map(|position| {
            let index = kept.records.binary_search_by_key(position, |r| r.position);
            event(kept.records[index.ok()?].clone())
        });
        Ok(found.collect())
    }

    /// All contents are in memory.
    fn ended(&self, _changes: &[u64]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(Vec::new())
    }
}

/// Memory of an event's record, in bytes.
fn size(record: &Record) -> Option<usize> {
    const OVERHEAD: usize = 256;
    match &record.entry {
        Entry::Published(published) => Some(OVERHEAD + published.event.size()),
        _ => None,
    }
}
