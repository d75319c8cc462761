//! The updates of work that is handed over, from before and after its questions.

use tokio::sync::mpsc;

use crate::{Error, Outcome, Pending, Update, Updates};

/// The writing end of one [`Updates`].
#[derive(Debug)]
pub(super) struct Shown {
    sender: mpsc::Sender<Box<Update>>,
    /// Updates that the reader was too slow for.
    missed: u64,
}

impl Shown {
    pub(super) fn new() -> (Self, Updates) {
        let (sender, receiver) = mpsc::channel(Pending::MAX_UPDATES);
        let updates = Updates {
            receiver: Some(receiver),
        };
        (Self { sender, missed: 0 }, updates)
    }

    /// Waits for the outcome, and shows the updates until then.
    pub(super) async fn follow(&mut self, mut pending: Pending) -> Result<Outcome, Error> {
        let mut updates = pending.updates();
        let outcome = pending.outcome();
        tokio::pin!(outcome);
        loop {
            tokio::select! {
                biased;
                Some(update) = updates.next() => self.show(update),
                outcome = &mut outcome => return outcome,
            }
        }
    }

    fn show(&mut self, update: Update) {
        if self.missed > 0 {
            let missed = Update::Missed(self.missed);
            if self.sender.try_send(Box::new(missed)).is_ok() {
                self.missed = 0;
            }
        }
        if let Err(mpsc::error::TrySendError::Full(_)) = self.sender.try_send(Box::new(update)) {
            self.missed += 1;
        }
    }
}
