//! Deadlines by the hub's clock: the remaining time counts, because the sender's clock may differ.

use std::time::SystemTime;

use agenthub_proto::{
    agenthub::AgentEventMetadata,
    event::{duration, system_time, timestamp, wire_duration},
    json::LAST_SECOND,
};

use crate::Error;

/// Sets the deadline and the remaining time of a message that just arrived. `makes_task` is true if it creates a task,
/// which needs some time.
///
/// # Errors
///
/// [`Error::InvalidArgument`] for an invalid time, [`Error::FailedPrecondition`] if it has passed already.
pub(crate) fn reckon(
    routing: &mut AgentEventMetadata,
    makes_task: bool,
    now: SystemTime,
) -> Result<(), Error> {
    let invalid = |what: &str| Error::InvalidArgument(what.to_owned());
    let deadline = match (&routing.time_left, &routing.deadline) {
        (None, None) => return Ok(()),
        (Some(left), _) => {
            let left = duration(left)
                .ok_or_else(|| invalid("routing.time_left is negative, or no duration"))?;
            let deadline = now.checked_add(left);
            deadline.ok_or_else(|| invalid("routing.time_left is too long"))?
        }
        (None, Some(deadline)) => system_time(deadline)
            .ok_or_else(|| invalid("routing.deadline is no time after 1970"))?,
    };
    if makes_task && deadline <= now {
        return Err(Error::FailedPrecondition(
            "routing.deadline has passed already".to_owned(),
        ));
    }
    let left = deadline.duration_since(now).unwrap_or_default();
    let deadline = timestamp(deadline);
    if deadline.seconds > LAST_SECOND {
        return Err(invalid("the deadline is after the year 9999"));
    }
    routing.deadline = Some(deadline);
    routing.time_left = Some(wire_duration(left));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MINUTE: u64 = 60;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
    }

    fn sent(deadline: Option<SystemTime>, left: Option<u64>) -> AgentEventMetadata {
        AgentEventMetadata {
            deadline: deadline.map(timestamp),
            time_left: left.map(|left| wire_duration(Duration::from_secs(left))),
            ..Default::default()
        }
    }

    /// Remaining time of a message after its arrival, if it is accepted.
    fn left(mut routing: AgentEventMetadata, makes_task: bool) -> Option<u64> {
        reckon(&mut routing, makes_task, now()).ok()?;
        let left = routing.time_left.as_ref().and_then(duration)?;
        let deadline = routing.deadline.as_ref().and_then(system_time);
        assert_eq!(deadline, Some(now() + left));
        Some(left.as_secs())
    }

    #[test]
    fn what_is_left_counts_whatever_the_clock_of_the_sender_says() {
        let ahead = now() + Duration::from_secs(15 * MINUTE);
        let behind = now() - Duration::from_secs(5 * MINUTE);
        for clock in [Some(ahead), Some(behind), None] {
            assert_eq!(left(sent(clock, Some(5 * MINUTE)), true), Some(5 * MINUTE));
        }
    }

    #[test]
    fn a_sender_that_says_only_when_is_believed() {
        let at = |seconds| Some(now() + Duration::from_secs(seconds));
        assert_eq!(left(sent(at(7), None), true), Some(7));
        assert_eq!(left(sent(at(0), None), true), None);
        assert_eq!(left(sent(at(0), None), false), Some(0), "it makes no task");
        assert_eq!(left(sent(None, Some(0)), true), None);
        let mut none = sent(None, None);
        reckon(&mut none, true, now()).expect("there is no limit");
        assert_eq!(none, sent(None, None));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for seconds in [-1, 1_000_000_000_000, i64::MAX] {
            let mut routing = sent(Some(now()), Some(0));
            routing.time_left = Some(agenthub_proto::wkt::Duration { seconds, nanos: 0 });
            let error = reckon(&mut routing, true, now()).expect_err("no time");
            assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
        }
    }
}
