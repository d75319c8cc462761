//! Is this the first failure of an outage?

use std::sync::atomic::{AtomicBool, Ordering};

/// Outcome of the latest call of a model: set if it failed. Calls at the same time share it.
#[derive(Debug, Default)]
pub(super) struct Outage(AtomicBool);

impl Outage {
    /// Takes in a failure. Returns whether it is the first since the last answer.
    pub(super) fn begins(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Takes in an answer.
    pub(super) fn ends(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_once_and_again_after_an_answer() {
        let outage = Outage::default();
        assert_eq!([outage.begins(), outage.begins()], [true, false]);
        outage.ends();
        assert_eq!([outage.begins(), outage.begins()], [true, false]);
    }
}
