//! Rows on their way from the thread that reads them to the one that folds them. Their bytes lie in two pieces of memory, which are
//! used again: memory that one thread takes and another gives back is slow.

use super::row::RowRef;

/// Rows of one batch.
const ROWS: usize = 512;

/// See the module's description.
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
    /// Where namespace, order key and principal end in the text.
    texts: [usize; 3],
    /// Where the payload ends in the bytes.
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
        /// Bytes of one batch, unless one row alone is larger.
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
