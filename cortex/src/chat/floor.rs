//! Decides whose turn it is.
//!
//! The requests of a conversation decide one at a time: in the order in which they came, and later, when what they waited for is
//! back, in the order in which they ask.

use std::collections::VecDeque;

/// The requests that want to decide. The first one has the floor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Floor(VecDeque<u64>);

impl Floor {
    /// Puts a request at the end, unless it stands there already.
    pub(crate) fn want(&mut self, turn: u64) {
        if !self.0.contains(&turn) {
            self.0.push_back(turn);
        }
    }

    /// True if the request may decide.
    pub(crate) fn is_of(&self, turn: u64) -> bool {
        self.0.front() == Some(&turn)
    }

    /// The request does not want to decide any more, for the moment or for good.
    pub(crate) fn leave(&mut self, turn: u64) {
        self.0.retain(|t| *t != turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_decides_at_a_time_and_who_gives_way_comes_last() {
        let mut floor = Floor::default();
        (1..=3).for_each(|turn| floor.want(turn));
        assert!(floor.is_of(1) && !floor.is_of(2));
        floor.leave(1);
        assert!(floor.is_of(2));
        floor.want(1);
        floor.leave(3);
        floor.leave(2);
        assert!(floor.is_of(1));
        floor.leave(1);
        assert_eq!(floor, Floor::default());
    }
}
