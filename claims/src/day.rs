//! Days of UTC, by which objects are kept.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime},
};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// How far clocks of processes that share a store may be apart.
const CLOCK_SKEW: Duration = Duration::from_hours(1);

/// A day of UTC, written `2026-11-25`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(Date);

impl Day {
    /// The day at this time.
    ///
    /// # Panics
    ///
    /// If the clock is before the year -9999 or after 9999.
    pub(crate) fn of(now: SystemTime) -> Self {
        let now = Timestamp::try_from(now).expect("the clock shows a year of four digits");
        Self(now.to_zoned(TimeZone::UTC).date())
    }

    /// Has this day been over for longer than the retention, by every clock that is right to an hour?
    ///
    /// Nobody puts to such a day.
    pub(crate) fn is_overdue(self, now: SystemTime, retention: Duration) -> bool {
        now.checked_sub(retention.saturating_add(CLOCK_SKEW))
            .is_some_and(|limit| self < Self::of(limit))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Day {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let date: Date = text.parse().map_err(|_| ())?;
        let day = Self(date);
        if day.to_string() == text {
            Ok(day)
        } else {
            Err(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn at(text: &str) -> SystemTime {
        text.parse::<Timestamp>().expect("a time").into()
    }

    #[test]
    fn a_day_is_overdue_an_hour_after_the_retention_since_its_end() {
        let day: Day = "2026-11-25".parse().expect("a day");
        let check = |now: &str, retention: Duration, expected: bool| {
            assert_eq!(day.is_overdue(at(now), retention), expected, "{now}");
        };
        check("2026-11-25T23:59:59Z", Duration::ZERO, false);
        check("2026-11-26T00:59:59Z", Duration::ZERO, false);
        check("2026-11-26T01:00:00Z", Duration::ZERO, true);
        check("2026-11-27T00:59:59Z", 24 * HOUR, false);
        check("2026-11-27T01:00:00Z", 24 * HOUR, true);
        check("2026-11-24T12:00:00Z", Duration::ZERO, false);
        check("2026-11-27T01:00:00Z", Duration::MAX, false);
    }

    #[test]
    fn only_the_written_form_is_a_day() {
        assert_eq!(
            Day::of(at("2026-11-25T23:59:59Z")).to_string(),
            "2026-11-25"
        );
        for text in ["", "2026-11", "20261125", "2026-11-25T00:00", "2026-02-30"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
