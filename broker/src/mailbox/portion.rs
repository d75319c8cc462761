//! Maximum work on a mailbox per acquisition of the hub's lock: the rest is done in the next one.

/// Steps per portion. Moving a batch takes a microsecond or two.
const STEPS: usize = 20_000;
/// Steps for moving a batch.
const MOVE: usize = 10;
/// Steps for giving an event up, which is a record in the log.
const GIVE_UP: usize = 200;

/// The portion, see the module.
#[derive(Debug)]
pub(crate) struct Portion {
    left: usize,
}

impl Portion {
    pub(crate) fn new() -> Self {
        Self { left: STEPS }
    }

    /// Counts a visited batch or mailbox.
    pub(crate) fn look(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Counts a moved batch.
    pub(super) fn batch(&mut self) {
        self.left = self.left.saturating_sub(MOVE);
    }

    /// Counts given-up events.
    pub(super) fn given_up(&mut self, events: usize) {
        self.left = self.left.saturating_sub(events * GIVE_UP);
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }
}
