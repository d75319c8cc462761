//! Deadlines of others by the clock of this machine.

use std::time::SystemTime;

use agenthub_proto::{
    agenthub::AgentEventMetadata,
    event::{duration, timestamp},
    wkt,
};

/// A clock: what time it is.
pub(crate) type Clock = fn() -> SystemTime;

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Sets the deadline of a message that came just now to what this machine's clock will show then. What was left counts, less the time that the
/// message has waited at the hub. Hubs of earlier releases say only when it is over, by their own clock.
pub(crate) fn by_own_clock(
    routing: &mut AgentEventMetadata,
    waited: Option<&wkt::Duration>,
    now: SystemTime,
) {
    let Some(left) = routing.time_left.take().as_ref().and_then(duration) else {
        return;
    };
    let waited = waited.and_then(duration).unwrap_or_default();
    let at = now.checked_add(left.saturating_sub(waited));
    routing.deadline = at.map(timestamp);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agenthub_proto::event::{system_time, wire_duration};

    use super::*;

    #[test]
    fn what_is_left_counts_from_now_on_less_what_has_passed_at_the_hub() {
        let seconds = Duration::from_secs;
        let hub = SystemTime::UNIX_EPOCH + seconds(1_000_000);
        for own in [hub, hub + seconds(600), hub - seconds(600)] {
            for (waited, left) in [(None, 300), (Some(100), 200), (Some(400), 0)] {
                let mut routing = AgentEventMetadata {
                    deadline: Some(timestamp(hub + seconds(300))),
                    time_left: Some(wire_duration(seconds(300))),
                    ..Default::default()
                };
                let waited = waited.map(|waited| wire_duration(seconds(waited)));
                by_own_clock(&mut routing, waited.as_ref(), own);
                let deadline = routing.deadline.as_ref().and_then(system_time);
                assert_eq!(deadline, Some(own + seconds(left)));
                assert_eq!(routing.time_left, None, "it is said once");
            }
        }
        let only_when = AgentEventMetadata {
            deadline: Some(timestamp(hub)),
            ..Default::default()
        };
        let mut routing = only_when.clone();
        by_own_clock(&mut routing, None, hub + seconds(7));
        assert_eq!(routing, only_when);
    }
}
