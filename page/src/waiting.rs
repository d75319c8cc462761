//! The number of approvals that wait for a viewer, as every page says it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Time for which a number that was read is shown to the same viewer.
const FRESH: Duration = Duration::from_millis(800);

/// The most viewers whose numbers are kept.
const MAX_VIEWERS: usize = 1_000;

/// Numbers that were read lately, by principal. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting(Arc<Mutex<HashMap<String, (Instant, usize)>>>);

impl Waiting {
    /// The number for this principal, if it was read lately.
    pub(crate) fn fresh(&self, principal: &str, now: Instant) -> Option<usize> {
        let numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, number) = numbers.get(principal)?;
        (now.duration_since(*read) < FRESH).then_some(*number)
    }

    /// Keeps a number that was read now.
    pub(crate) fn keep(&self, principal: &str, now: Instant, number: usize) {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if numbers.len() >= MAX_VIEWERS {
            numbers.clear();
        }
        numbers.insert(principal.to_owned(), (now, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_each_viewers_own_and_shown_while_it_is_fresh() {
        let waiting = Waiting::default();
        let now = Instant::now();
        waiting.keep("alice", now, 2);
        assert_eq!(waiting.fresh("alice", now), Some(2));
        assert_eq!(waiting.fresh("bob", now), None);
        assert_eq!(waiting.fresh("alice", now + FRESH), None);
    }
}
