//! Queue of publishes in their order.

use std::collections::VecDeque;

use super::{PublishOutcome, fingerprint::Fingerprint};

/// Entry of a publish.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remembered {
    pub(super) fingerprint: Fingerprint,
    pub(super) seen: PublishOutcome,
    /// Time of arrival, in nanoseconds from a base.
    pub(super) at: i64,
    /// Number of its sender.
    pub(super) sender: u32,
}

/// Publishes, numbered from the first ever. Stored in chunks, so that growing moves nothing, and shrinking frees
/// memory.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Number of the oldest.
    first: u64,
    /// Number of the next one.
    next: u64,
    chunks: VecDeque<Vec<Remembered>>,
}

/// Publishes per chunk: 56 KiB.
const CHUNK: u64 = 1024;

impl Queue {
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.next - self.first).expect("they are in memory")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.first
    }

    #[cfg(test)]
    pub(super) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Number of the next publish.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn get(&self, number: u64) -> Option<&Remembered> {
        let chunk = (number / CHUNK).checked_sub(self.first / CHUNK)?;
        let chunk = self.chunks.get(usize::try_from(chunk).ok()?)?;
        chunk.get(usize::try_from(number % CHUNK).ok()?)
    }

    /// Full number of a remembered publish, from its lower half.
    pub(super) fn whole(&self, lower: u32) -> u64 {
        #[allow(clippy::cast_possible_truncation)]
        let since = lower.wrapping_sub(self.first as u32);
        self.first + u64::from(since)
    }

    /// The oldest, with its number.
    pub(super) fn front(&self) -> Option<(u64, &Remembered)> {
        let oldest = (!self.is_empty()).then(|| self.get(self.first))?;
        Some((self.first, oldest?))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Remembered)> {
        (self.first..self.next).filter_map(|number| Some((number, self.get(number)?)))
    }

    pub(super) fn push(&mut self, remembered: Remembered) {
        if self.next.is_multiple_of(CHUNK) {
            let room = usize::try_from(CHUNK).expect("it is small");
            self.chunks.push_back(Vec::with_capacity(room));
        }
        let chunk = self.chunks.back_mut();
        chunk
            .expect("one begins with each multiple")
            .push(remembered);
        self.next += 1;
    }

    /// Drops the oldest.
    pub(super) fn pop(&mut self) {
        if self.is_empty() {
            return;
        }
        self.first += 1;
        if self.first.is_multiple_of(CHUNK) {
            self.chunks.pop_front();
        }
    }
}
