//! Periodic rounds through the mailboxes and the directory, a few at a time, for unused ones.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// Pause between two rounds, and before the first: clients of a hub that has just started may still reconnect.
const EVERY: Duration = Duration::from_secs(600);
/// Precision of the last use in the log.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Next step for something that may be unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Record that it is used.
    Note,
    /// Close it.
    Close,
}

/// Decides by the last recorded use, and by current presence.
pub(super) fn due(used: SystemTime, is_present: bool, longest: Duration, now: SystemTime) -> Due {
    let unused = now.duration_since(used).unwrap_or_default();
    match is_present {
        true if unused >= DAY => Due::Note,
        false if unused >= longest.saturating_add(DAY) => Due::Close,
        _ => Due::Nothing,
    }
}

/// Position of the rounds.
#[derive(Debug)]
pub(super) struct Sweep<K> {
    /// Start of the next round.
    next: Option<Instant>,
    /// The key checked last, while a round is in progress.
    pub(super) after: Option<K>,
}

impl<K> Default for Sweep<K> {
    fn default() -> Self {
        let (next, after) = (None, None);
        Self { next, after }
    }
}

impl<K> Sweep<K> {
    /// The key to continue after, if a round is due or in progress. A round begins after `first`.
    pub(super) fn due(&mut self, first: K, now: Instant) -> Option<K> {
        let next = *self.next.get_or_insert(now + EVERY);
        if self.after.is_none() && now >= next {
            self.next = Some(now + EVERY);
            self.after = Some(first);
        }
        self.after.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// promise 10
    #[test]
    fn something_ends_after_its_time_without_anybody() {
        let week = 7 * DAY;
        let now = SystemTime::UNIX_EPOCH + 100 * DAY;
        let due = |ago, is_present| due(now - ago, is_present, week, now);
        assert_eq!(
            due(week, false),
            Due::Nothing,
            "it may have been used since"
        );
        assert_eq!(due(week + DAY, false), Due::Close);
        assert_eq!(due(week + DAY, true), Due::Note);
        assert_eq!(due(DAY / 2, true), Due::Nothing);
        let never = super::due(SystemTime::UNIX_EPOCH, false, Duration::MAX, now);
        assert_eq!(never, Due::Nothing);
    }
}
