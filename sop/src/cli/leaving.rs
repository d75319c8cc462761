//! Ends what runs for a team.

use std::time::Duration;

use tokio::time::timeout;

/// Time for a team to end before what it used ends without it.
const TEAM: Duration = Duration::from_secs(5);

/// Ends the team first, so that its agents can still tell the hub; then what they used, and the hub. None of these keeps another from ending.
pub(super) async fn leave(
    team: impl Future<Output = ()>,
    workshop: impl Future<Output = ()>,
    hub: impl Future<Output = ()>,
) {
    if timeout(TEAM, team).await.is_err() {
        tracing::warn!("the team did not end in time");
    }
    tokio::join!(workshop, hub);
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::pending};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_does_not_end_keeps_nothing_else_from_ending() {
        let is_ended = Cell::new(false);
        let hub = async { is_ended.set(true) };
        let leaving = leave(pending(), pending(), hub);
        assert!(timeout(TEAM * 2, leaving).await.is_err(), "some never end");
        assert!(is_ended.get());
    }
}
