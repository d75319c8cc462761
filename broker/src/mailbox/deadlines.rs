//! When something is due for pieces of mail, earliest first. Nearly always what comes last is due last, and what is no more is what is
//! due first.

use std::collections::VecDeque;

use tokio::time::Instant;

use crate::log::Position;

/// What is no more may stay among so many others before they are gone through.
const SLACK: usize = 64;

/// See the module's description. Whoever keeps it knows which of its entries still hold.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// Sorted. The first one holds.
    queue: VecDeque<(Instant, Position)>,
}

impl Deadlines {
    /// Something is due at a time.
    pub(super) fn insert(&mut self, at: Instant, position: Position) {
        let entry = (at, position);
        match self.queue.back() {
            Some(last) if *last > entry => {
                let index = self.queue.partition_point(|e| *e < entry);
                self.queue.insert(index, entry);
            }
            _ => self.queue.push_back(entry),
        }
    }

    /// What was due for a piece of mail is so no more, or later. So many entries hold.
    pub(super) fn forget(
        &mut self,
        position: Position,
        count: usize,
        holds: impl Fn(Instant, Position) -> bool,
    ) {
        if self.queue.front().is_some_and(|(_, p)| *p == position) {
            while self.queue.front().is_some_and(|(at, p)| !holds(*at, *p)) {
                self.queue.pop_front();
            }
        }
        if self.queue.len() > 2 * count + SLACK {
            self.queue.retain(|(at, p)| holds(*at, *p));
            // What was to be due at the same time twice.
            let mut last = None;
            self.queue
                .retain(|entry| last.replace(*entry) != Some(*entry));
        }
    }

    /// What is due first.
    pub(super) fn first(&self) -> Option<(Instant, Position)> {
        self.queue.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeSet, HashMap},
        time::Duration,
    };

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It says what a sorted set would say, and is not much longer than that.
        #[test]
        fn the_first_is_that_of_a_sorted_set(
            steps in prop::collection::vec((0..40_u64, 0..1_000_u64, any::<bool>()), 0..400)
        ) {
            let begin = Instant::now();
            let mut deadlines = Deadlines::default();
            let mut held: HashMap<Position, Instant> = HashMap::new();
            for (position, ms, is_due) in steps {
                let (position, at) = (Position(position), begin + Duration::from_millis(ms));
                if is_due {
                    held.insert(position, at);
                    deadlines.insert(at, position);
                } else {
                    held.remove(&position);
                }
                deadlines.forget(position, held.len(), |at, p| held.get(&p) == Some(&at));
                let sorted: BTreeSet<(Instant, Position)> =
                    held.iter().map(|(p, at)| (*at, *p)).collect();
                prop_assert_eq!(deadlines.first(), sorted.first().copied());
                prop_assert!(deadlines.queue.len() <= 2 * held.len() + SLACK);
            }
        }
    }
}
