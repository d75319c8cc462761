//! The most work on a mailbox in one hold of the hub's lock: what is left of it is done in the next one.

/// Steps of a portion. Moving a batch is a microsecond or two.
const STEPS: usize = 20_000;
/// Steps of moving a batch.
const MOVE: usize = 10;
/// Steps of giving an event up, which is a record in the log.
const GIVE_UP: usize = 200;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Portion {
    left: usize,
}

impl Portion {
    pub(crate) fn new() -> Self {
        Self { left: STEPS }
    }

    /// A batch or a mailbox was looked at.
    pub(crate) fn look(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// A batch has moved.
    pub(super) fn batch(&mut self) {
        self.left = self.left.saturating_sub(MOVE);
    }

    /// Events were given up.
    pub(super) fn given_up(&mut self, events: usize) {
        self.left = self.left.saturating_sub(events * GIVE_UP);
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }
}
