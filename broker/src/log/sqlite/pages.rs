//! Paged reading of records, each page in its own transaction: between pages nothing prevents a checkpoint, however
//! slowly the records are consumed.

use super::{
    super::{OpenError, Position, Record},
    beside::Beside,
    read::Reader,
};

/// A page ends with the first record that reaches one of these limits.
const RECORDS: usize = 1000;
const BYTES: usize = 4 * 1024 * 1024;

/// Records of a log, oldest first: old ones before its first that mailboxes still need, then all from there on.
pub(crate) struct Pages {
    log: Beside,
    after: Position,
    /// The last record to read.
    until: Position,
    /// The pages have reached the complete part of the log.
    is_whole: bool,
}

/// Records of a page, and the damage that ends them.
pub(crate) struct RecordsPage {
    pub(crate) records: Vec<Record>,
    pub(crate) damage: Option<OpenError>,
}

impl Pages {
    /// The records after a position, up to and including another one, as far as they exist now.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub(crate) fn new(log: Beside, after: Position, until: Position) -> Result<Self, OpenError> {
        let last = log.read(|reader| Ok(reader.last))?;
        Ok(Self {
            log,
            after,
            until: until.min(last),
            is_whole: false,
        })
    }

    /// The next page; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`OpenError::Shortened`] if the hub removed records before they were read; else the unreadable part.
    pub(crate) fn next(&mut self) -> Result<Option<RecordsPage>, OpenError> {
        if self.after >= self.until {
            return Ok(None);
        }
        let (after, until, is_whole) = (self.after, self.until, self.is_whole);
        let read = self.log.read(|reader| {
            let kept = match is_whole {
                true => Vec::new(),
                false => reader.sparse(after, RECORDS)?,
            };
            let mut page = Page::default();
            if kept.is_empty() {
                let next = Position(after.0.saturating_add(1));
                if is_whole && next < reader.first {
                    return Err(reader.shortened());
                }
                let damage = page.fill(reader, next.max(reader.first), until);
                return Ok((page.records, damage.err(), true));
            }
            let mut kept = kept.into_iter().filter(|p| *p <= until);
            let damage = kept.try_for_each(|position| page.add_kept(reader, position));
            Ok((page.records, damage.err(), false))
        });
        let (records, damage, is_whole) = read?;
        self.is_whole = is_whole;
        let last = records.last().map(|record| record.position);
        // An empty page ends the range.
        self.after = last.unwrap_or(self.until);
        Ok(Some(RecordsPage { records, damage }))
    }
}

/// A page in progress.
#[derive(Default)]
struct Page {
    records: Vec<Record>,
    bytes: usize,
}

impl Page {
    fn is_full(&self) -> bool {
        self.records.len() >= RECORDS || self.bytes >= BYTES
    }

    /// Adds records from a position on.
    fn fill(
        &mut self,
        reader: &Reader<'_>,
        from: Position,
        until: Position,
    ) -> Result<(), OpenError> {
        if from > until {
            return Ok(());
        }
        reader.rows(from, |row| {
            let record = row.record();
            let record = record.map_err(|reason| reader.damaged(row.position, reason))?;
            self.bytes += row.bytes();
            self.records.push(record);
            Ok(!self.is_full() && row.position < until.0)
        })
    }

    /// Adds one record, unless the page is full.
    fn add_kept(&mut self, reader: &Reader<'_>, position: Position) -> Result<(), OpenError> {
        if !self.is_full() {
            let mut one = Self::default();
            one.fill(reader, position, position)?;
            self.bytes += one.bytes;
            self.records.append(&mut one.records);
        }
        Ok(())
    }
}
