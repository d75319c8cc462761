//! Batches of rows between the reading and the folding thread. Their bytes are in two buffers, which are reused: memory
//! allocated by one thread and freed by another is slow.

use super::row::RowRef;

/// Maximum rows of a batch.
const ROWS: usize = 512;

/// The batch, see the module.
#[derive(Debug, Default)]
pub(super) struct Batch {
    text: String,
    bytes: Vec<u8>,
    rows: Vec<Numbers>,
}

#[derive(Debug)]
struct Numbers {
    position: u64,
    time_us: i64,
    kind: i64,
    /// Ends of namespace, order key and principal in the text.
    texts: [usize; 3],
    /// End of the payload in the bytes.
    payload: usize,
}

impl Batch {
    pub(super) fn push(&mut self, row: &RowRef<'_>) {
        let texts = [row.namespace, row.order, row.principal].map(|text| {
            self.text.push_str(text);
            self.text.len()
        });
        self.bytes.extend_from_slice(row.payload);
        self.rows.push(Numbers {
            position: row.position,
            time_us: row.time_us,
            kind: row.kind,
            texts,
            payload: self.bytes.len(),
        });
    }

    pub(super) fn is_full(&self) -> bool {
        /// Maximum bytes of a batch, unless one row alone is larger.
        const BYTES: usize = 1024 * 1024;
        self.rows.len() >= ROWS || self.bytes.len() >= BYTES
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.bytes.clear();
        self.rows.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = RowRef<'_>> {
        let (mut text, mut byte) = (0, 0);
        self.rows.iter().map(move |numbers| {
            let [namespace, order, principal] = numbers.texts;
            let row = RowRef {
                position: numbers.position,
                time_us: numbers.time_us,
                kind: numbers.kind,
                namespace: &self.text[text..namespace],
                order: &self.text[namespace..order],
                principal: &self.text[order..principal],
                payload: &self.bytes[byte..numbers.payload],
            };
            (text, byte) = (principal, numbers.payload);
            row
        })
    }
}
