//! Health of a hub, by what was seen of it.

use std::time::Duration;

use crate::numbers::{INTERVAL, Numbers, Point};

/// Time of a sync from which on it is slow, in seconds.
const SLOW_SYNC: f64 = 0.1;
/// The same of a hold of the lock.
const LONG_HOLD: f64 = 0.01;
/// Age from which on mail is old, in seconds.
const OLD: f64 = 3_600.0;
/// Share of a bound from which on it is near.
const NEAR: f64 = 0.8;
/// Points for which something has to be slow to be told: half a minute.
const LASTING: usize = 3;
/// Points of ten minutes.
const LATELY: usize = 60;

/// Health of a hub.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Health {
    pub(crate) level: Level,
    /// Faults, each with what to do; without any, the facts that were looked at.
    pub(crate) why: Vec<String>,
}

/// Severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nobody has looked yet.
    Unknown,
    Good,
    /// Something needs somebody.
    Warning,
    /// The hub does not do its work.
    Bad,
}

impl Level {
    /// It in words, and the class of their colour.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Unknown => ("not looked at yet", "idle"),
            Self::Good => ("healthy", "good"),
            Self::Warning => ("needs attention", "warn"),
            Self::Bad => ("not working", "bad"),
        }
    }
}

impl Health {
    /// The health at the last look.
    pub(crate) fn of(numbers: &Numbers) -> Self {
        let Some(point) = numbers.latest() else {
            let why = "The first numbers come 10 seconds after the start.".to_owned();
            return Self {
                level: Level::Unknown,
                why: vec![why],
            };
        };
        let mut faults = now(&steady(point, numbers));
        faults.extend(lately(numbers.points().rev().take(LATELY)));
        faults.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
        match faults.first() {
            Some((level, _)) => Self {
                level: *level,
                why: faults.into_iter().map(|(_, why)| why).collect(),
            },
            None => Self {
                level: Level::Good,
                why: vec![looked_at(point)],
            },
        }
    }
}

/// The point with the times that were at least as long in all of the latest points. A single long one is nothing that anybody has to act on.
fn steady(point: &Point, numbers: &Numbers) -> Point {
    let shortest = |time: fn(&Point) -> Option<f64>| {
        let latest: Vec<Option<f64>> = numbers.points().rev().take(LASTING).map(time).collect();
        let times: Option<Vec<f64>> = latest.into_iter().collect();
        let times = times.filter(|times| times.len() == LASTING)?;
        times.into_iter().reduce(f64::min)
    };
    let mut steady = point.clone();
    steady.sync.p99 = shortest(|point| point.sync.p99);
    steady.lock.p99 = shortest(|point| point.lock.p99);
    steady
}

/// Faults at this moment.
fn now(point: &Point) -> Vec<(Level, String)> {
    let mut faults = Vec::new();
    let mut fault = |level, why: String| faults.push((level, why));
    let now = &point.now;
    if now.has_failed {
        fault(
            Level::Bad,
            "The hub has failed: its process has to be started again. Its log says why.".into(),
        );
    } else if !now.accepts {
        fault(
            Level::Bad,
            "The disk of the log is full: nothing is accepted until there is room.".into(),
        );
    }
    if let Some(sync) = point.sync.p99.filter(|sync| *sync > SLOW_SYNC) {
        let sync = seconds(sync);
        fault(
            Level::Warning,
            format!(
                "The disk is slow: syncs of the log take up to {sync}, and every publish waits for one."
            ),
        );
    }
    if let Some(hold) = point.lock.p99.filter(|hold| *hold > LONG_HOLD) {
        let hold = seconds(hold);
        fault(
            Level::Warning,
            format!(
                "Calls wait for one another for up to {hold}: the machine has too little to compute with."
            ),
        );
    }
    if now.oldest > OLD {
        let age = seconds(now.oldest);
        fault(
            Level::Warning,
            format!(
                "Mail waits for {age}: its agent is away or too slow. The mailboxes show whose it is."
            ),
        );
    }
    if let Some((of, share)) = now.fullest.as_ref().filter(|(_, share)| *share > NEAR) {
        let (of, percent) = (of.replace('_', " "), share * 100.0);
        fault(
            Level::Warning,
            format!("{percent:.0} % of the most {of} are in use; beyond that, more is refused."),
        );
    }
    faults
}

/// Failures of the last ten minutes.
fn lately<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Vec<(Level, String)> {
    let mut faults = Vec::new();
    let given_up: f64 = points.clone().map(|point| point.given_up).sum();
    if given_up > 0.0 {
        faults.push((Level::Warning, format!("{given_up:.0} deliveries were given up in the last ten minutes: the dead letters say why.")));
    }
    let longest = points.map(|point| point.after).max().unwrap_or_default();
    if longest > 2 * INTERVAL {
        let stood = (longest - INTERVAL).as_secs();
        faults.push((Level::Warning, format!("The process stood still for {stood} s in the last ten minutes: the machine was asleep or overloaded.")));
    }
    faults
}

/// Good facts, with their numbers.
fn looked_at(point: &Point) -> String {
    let syncs = match point.sync.p99 {
        Some(sync) => format!("its syncs take up to {}", seconds(sync)),
        None => "nothing had to be synced".to_owned(),
    };
    let holds = match point.lock.p99 {
        Some(hold) => format!("no call holds others up for more than {}", seconds(hold)),
        None => "no call holds others up".to_owned(),
    };
    format!(
        "The log takes records, {syncs}, {holds}, and nothing was given up in the last ten minutes."
    )
}

/// A time in words.
pub(crate) fn seconds(seconds: f64) -> String {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    match seconds {
        _ if seconds < 0.001 => format!("{} µs", time.as_micros()),
        _ if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds < 60.0 => format!("{seconds:.1} s"),
        _ if seconds < 3_600.0 => format!("{} min", time.as_secs() / 60),
        _ => format!("{} h", time.as_secs() / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{
        Now, Times,
        tests::{calm, of_points},
    };

    fn levels(point: &Point) -> Vec<Level> {
        now(point).into_iter().map(|(level, _)| level).collect()
    }

    #[test]
    fn what_is_wrong_is_found_by_what_was_seen() {
        assert_eq!(levels(&calm()), []);
        let with = |now: Now| Point { now, ..calm() };
        let full = with(Now::default());
        assert_eq!(levels(&full), [Level::Bad]);
        let failed = with(Now {
            has_failed: true,
            ..Now::default()
        });
        assert_eq!(levels(&failed), [Level::Bad]);
        let slow = Times {
            p50: Some(0.2),
            p99: Some(0.3),
        };
        let busy = Point {
            sync: slow,
            lock: slow,
            now: Now {
                accepts: true,
                oldest: 4_000.0,
                fullest: Some(("streams".into(), 0.9)),
                ..Now::default()
            },
            ..calm()
        };
        assert_eq!(levels(&busy), [Level::Warning; 4]);
        let words = now(&busy).into_iter().map(|(_, why)| why);
        let words = words.collect::<Vec<_>>().join("\n");
        for part in ["300.0 ms", "1 h", "90 % of the most streams"] {
            assert!(words.contains(part), "{part}: {words}");
        }
    }

    #[test]
    fn what_is_slow_once_is_not_told_and_what_stays_slow_is() {
        let slow = Point {
            lock: Times {
                p50: None,
                p99: Some(0.04),
            },
            ..calm()
        };
        let level = |points: Vec<Point>| Health::of(&of_points(points)).level;
        assert_eq!(level(vec![slow.clone()]), Level::Good);
        assert_eq!(level(vec![slow.clone(), calm(), slow.clone()]), Level::Good);
        assert_eq!(level(vec![slow; LASTING]), Level::Warning);
    }

    #[test]
    fn what_went_wrong_lately_is_told_after_it_is_over() {
        let mut points = vec![calm(); 5];
        assert_eq!(lately(points.iter()), []);
        points[1].given_up = 3.0;
        points[2].after = Duration::from_secs(70);
        let told = lately(points.iter());
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].1.starts_with("3 deliveries"), "{told:?}");
        assert!(told[1].1.contains("60 s"), "{told:?}");
    }

    #[test]
    fn nobody_claims_health_before_it_was_looked_at() {
        let health = Health::of(&Numbers::default());
        assert_eq!(health.level, Level::Unknown);
    }
}
