//! Times in snapshots: wall-clock times, since the monotonic clock ends with the process.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A moment by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    pub(crate) time: SystemTime,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self {
            instant: Instant::now(),
            time: SystemTime::now(),
        }
    }

    pub(super) fn micros_at(self, instant: Instant) -> i64 {
        let micros = |d: Duration| i64::try_from(d.as_micros()).unwrap_or(i64::MAX);
        let ahead = micros(instant.saturating_duration_since(self.instant));
        let behind = micros(self.instant.saturating_duration_since(instant));
        micros(since_epoch(self.time))
            .saturating_add(ahead)
            .saturating_sub(behind)
    }

    pub(super) fn instant_at(self, micros: i64) -> Instant {
        let time = time(micros);
        let ahead = time.duration_since(self.time).unwrap_or_default();
        let behind = self.time.duration_since(time).unwrap_or_default();
        let instant = self.instant.checked_sub(behind).unwrap_or(self.instant);
        instant.checked_add(ahead).unwrap_or(instant)
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

pub(crate) fn micros(time: SystemTime) -> i64 {
    i64::try_from(since_epoch(time).as_micros()).unwrap_or(i64::MAX)
}

pub(super) fn nanos(time: SystemTime) -> i64 {
    i64::try_from(since_epoch(time).as_nanos()).unwrap_or(i64::MAX)
}

pub(super) fn time(micros: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
