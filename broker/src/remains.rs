//! Large values that were let go of under the lock: they are freed without it.

use std::{any::Any, collections::VecDeque};

/// Pieces from which on freeing takes long.
const MANY: usize = 1000;
/// What is kept; more than that is freed at once.
const KEPT: usize = 64;

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Remains(VecDeque<Box<dyn Any + Send + Sync>>);

impl Remains {
    /// Adds something of so many pieces.
    pub(crate) fn add(&mut self, pieces: usize, remains: impl Any + Send + Sync) {
        if pieces >= MANY {
            self.0.truncate(KEPT - 1);
            self.0.push_front(Box::new(remains));
        }
    }

    /// What is there to be freed.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}
