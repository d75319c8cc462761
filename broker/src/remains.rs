//! Deferred drops: large values removed under the lock are freed without it.

use std::{any::Any, collections::VecDeque};

/// Number of elements from which on freeing takes long.
const MANY: usize = 1000;
/// Maximum kept values; further ones are freed at once.
const KEPT: usize = 64;

/// The values, see the module.
#[derive(Debug, Default)]
pub(crate) struct Remains(VecDeque<Box<dyn Any + Send + Sync>>);

impl Remains {
    /// Adds a value of this many elements.
    pub(crate) fn add(&mut self, pieces: usize, remains: impl Any + Send + Sync) {
        if pieces >= MANY {
            self.0.truncate(KEPT - 1);
            self.0.push_front(Box::new(remains));
        }
    }

    /// Takes the values, to free them.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_is_large_lives_until_it_is_taken_and_not_without_bound() {
        let value = Arc::new(());
        let living = || Arc::strong_count(&value) - 1;
        let mut remains = Remains::default();
        remains.add(MANY - 1, value.clone());
        assert_eq!(living(), 0, "what is small is freed at once");
        for _ in 0..2 * KEPT {
            remains.add(MANY, value.clone());
        }
        assert_eq!(living(), KEPT);
        let taken = remains.take();
        assert_eq!(living(), KEPT, "whoever took it frees it");
        drop(taken);
        assert_eq!(living(), 0);
    }
}
