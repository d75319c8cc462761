//! A record as a row, with a checksum of everything in it.

use std::time::{Duration, SystemTime};

use super::super::{Entry, Position, Record, codec};

/// A record as it is written.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) position: u64,
    pub(super) time_us: i64,
    pub(super) kind: i64,
    pub(super) namespace: String,
    pub(super) order: String,
    pub(super) principal: String,
    pub(super) payload: Vec<u8>,
}

impl Row {
    pub(super) fn bytes(&self) -> usize {
        const OVERHEAD: usize = 64;
        OVERHEAD
            + self.payload.len()
            + self.order.len()
            + self.namespace.len()
            + self.principal.len()
    }

    /// A checksum of everything in the row.
    pub(super) fn sum(&self) -> u32 {
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

    pub(super) fn record(&self) -> Result<Record, String> {
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
