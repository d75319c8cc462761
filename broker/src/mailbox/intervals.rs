//! A set of positions, stored as intervals. A batch is one interval, whatever other positions are in between.

use std::collections::BTreeMap;

use crate::log::Position;

/// The set, see the module.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    /// First position of each interval, by its last one. Intervals do not overlap.
    firsts: BTreeMap<Position, Position>,
}

impl Intervals {
    /// Adds the positions of an interval.
    pub(super) fn insert(&mut self, first: Position, last: Position) {
        self.remove(first, last);
        self.firsts.insert(last, first);
    }

    /// Removes the positions of an interval.
    pub(super) fn remove(&mut self, first: Position, last: Position) {
        while let Some((end, start)) = self.firsts.range_mut(first..).next() {
            let (end, begin) = (*end, *start);
            if begin > last {
                break;
            }
            if end > last {
                *start = Position(last.0 + 1);
            } else {
                self.firsts.remove(&end);
            }
            if begin < first {
                self.firsts.insert(Position(first.0 - 1), begin);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.firsts.clear();
    }

    /// Removes the first interval.
    pub(super) fn pop_first(&mut self) -> Option<(Position, Position)> {
        let (last, first) = self.firsts.pop_first()?;
        Some((first, last))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Equivalent to a set of single positions.
        #[test]
        fn intervals_are_a_set_of_positions(
            steps in prop::collection::vec((0..30_u64, 0..8_u64, any::<bool>()), 0..60)
        ) {
            let mut intervals = Intervals::default();
            let mut single = BTreeSet::new();
            for (first, more, is_in) in steps {
                let (first, last) = (Position(first), Position(first + more));
                if is_in {
                    intervals.insert(first, last);
                    single.extend(first.0..=last.0);
                } else {
                    intervals.remove(first, last);
                    single.retain(|at| !(first.0..=last.0).contains(at));
                }
            }
            let held = std::iter::from_fn(|| intervals.pop_first());
            let held = held.flat_map(|(first, last)| first.0..=last.0);
            prop_assert_eq!(held.collect::<Vec<_>>(), Vec::from_iter(single));
        }
    }
}
