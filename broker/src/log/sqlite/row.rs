//! A record as a row, with a checksum over all columns.

use std::time::{Duration, SystemTime};

use super::{
    super::{Entry, Position, Record, codec},
    packed::{Packer, unpack},
};
use agenthub_access::{ANONYMOUS, DEFAULT_NAMESPACE};

use crate::id::OrderKey;

/// An encoded record.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) position: u64,
    pub(super) time_us: i64,
    pub(super) kind: i64,
    /// Empty for the default; the principal likewise.
    pub(super) namespace: String,
    /// Empty if it follows from the entry.
    pub(super) order: OrderKey,
    pub(super) principal: String,
    pub(super) payload: Vec<u8>,
    /// True if the payload is compressed. False for events that were not decoded: their purpose is speed.
    packs: bool,
}

/// A borrowed row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowRef<'a> {
    pub(super) position: u64,
    pub(super) time_us: i64,
    pub(super) kind: i64,
    pub(super) namespace: &'a str,
    pub(super) order: &'a str,
    pub(super) principal: &'a str,
    pub(super) payload: &'a [u8],
}

/// Columns of [`RowRef::checked`], in its order.
pub(super) const COLUMNS: &str =
    "position, time_us, kind, namespace, order_key, principal, payload, sum";

impl Row {
    pub(super) fn bytes(&self) -> usize {
        self.by_ref().bytes()
    }

    /// The stored payload, and the checksum of all columns.
    pub(super) fn written<'a>(&'a self, packer: &'a mut Packer) -> (&'a [u8], u32) {
        let payload = match self.packs {
            true => packer.pack(&self.payload),
            false => &self.payload,
        };
        let row = RowRef {
            payload,
            ..self.by_ref()
        };
        (payload, row.sum())
    }

    fn by_ref(&self) -> RowRef<'_> {
        RowRef {
            position: self.position,
            time_us: self.time_us,
            kind: self.kind,
            namespace: &self.namespace,
            order: &self.order,
            principal: &self.principal,
            payload: &self.payload,
        }
    }
}

impl<'a> RowRef<'a> {
    /// The current row of a statement, if its checksum matches.
    pub(super) fn checked(row: &'a rusqlite::Row<'_>) -> Result<Self, String> {
        let (found, sum) = Self::read(row).map_err(|e| e.to_string())?;
        match found.sum() == sum {
            true => Ok(found),
            false => Err("its checksum does not fit its content".to_owned()),
        }
    }

    fn read(row: &'a rusqlite::Row<'_>) -> Result<(Self, u32), rusqlite::Error> {
        let text = |index| Ok::<_, rusqlite::Error>(row.get_ref(index)?.as_str()?);
        let found = Self {
            position: row.get::<_, i64>(0)?.cast_unsigned(),
            time_us: row.get(1)?,
            kind: row.get(2)?,
            namespace: text(3)?,
            order: text(4)?,
            principal: text(5)?,
            payload: row.get_ref(6)?.as_blob()?,
        };
        Ok((found, row.get(7)?))
    }

    pub(super) fn bytes(&self) -> usize {
        const OVERHEAD: usize = 64;
        OVERHEAD
            + self.payload.len()
            + self.order.len()
            + self.namespace.len()
            + self.principal.len()
    }

    pub(super) fn record(&self) -> Result<Record, String> {
        let payload = unpack(self.payload)?;
        let entry: Entry = codec::decode(&payload).map_err(|e| e.to_string())?;
        let since = Duration::from_micros(u64::try_from(self.time_us).unwrap_or(0));
        let order = match self.order {
            "" => entry.order(),
            order => order.into(),
        };
        Ok(Record {
            position: Position(self.position),
            time: SystemTime::UNIX_EPOCH + since,
            namespace: or(self.namespace, DEFAULT_NAMESPACE),
            principal: or(self.principal, ANONYMOUS),
            order,
            entry,
        })
    }

    fn sum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for number in [self.position.cast_signed(), self.time_us, self.kind] {
            hasher.update(&number.to_le_bytes());
        }
        for text in [self.namespace, self.order, self.principal] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(self.payload);
        hasher.finalize()
    }
}

impl From<Record> for Row {
    fn from(record: Record) -> Self {
        let since = record
            .time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let follows = follows(&record);
        Self {
            position: record.position.0,
            time_us: i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            kind: codec::kind(&record.entry),
            namespace: unless(record.namespace, DEFAULT_NAMESPACE),
            order: match follows {
                true => "".into(),
                false => record.order,
            },
            principal: unless(record.principal, ANONYMOUS),
            payload: codec::encode(&record.entry),
            packs: match &record.entry {
                Entry::Published(published) => published.event.looked_into().is_some(),
                _ => true,
            },
        }
    }
}

/// A text, or the default if it was omitted.
fn or(text: &str, usual: &str) -> String {
    if text.is_empty() { usual } else { text }.to_owned()
}

/// A text, omitted if it is the default.
fn unless(text: String, usual: &str) -> String {
    if text == usual { String::new() } else { text }
}

/// True if the order key of an event follows from the event. Events that were not decoded are not decoded for that.
fn follows(record: &Record) -> bool {
    let Entry::Published(published) = &record.entry else {
        return false;
    };
    let event = published.event.looked_into();
    event.is_some_and(|e| *record.order == *OrderKey::text(e.context_id(), e.task_id(), e.sender()))
}
