//! Size of a run's progress.

use std::ops::AddAssign;

use super::encode;
use crate::{event::RunEvent, progress};

/// Count and bytes of the progress of a run. Bounded: 10,000 pieces and 8 MiB, with a marker where more was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgressSize {
    /// Number of pieces.
    pub pieces: u64,
    /// Their serialized bytes.
    pub bytes: u64,
}

impl ProgressSize {
    /// Size of the progress among these events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a RunEvent>) -> Self {
        let mut tally = Self::default();
        for event in events {
            if let RunEvent::Progressed { .. } = event
                && let Some(piece) = progress::weight(event, encode(event).len())
            {
                tally += piece;
            }
        }
        tally
    }
}

impl AddAssign for ProgressSize {
    fn add_assign(&mut self, other: Self) {
        self.pieces = self.pieces.saturating_add(other.pieces);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
