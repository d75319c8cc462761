//! Numbers of the last hour: rates, times and counts of the hub, every ten seconds.

use std::{collections::VecDeque, time::Duration};

use agenthub_metrics::{Seen, Snapshot, Value};
use jiff::Timestamp;

/// Interval of looking.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

/// The most points: those of an hour.
const MOST: usize = 360;

/// Samples of the latest hour at most.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    last: Option<Sample>,
    points: VecDeque<Point>,
}

/// A sample: gauges at a moment, and counts since the one before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: Timestamp,
    /// Time since the point before.
    pub(crate) after: Duration,
    /// Events published in a second.
    pub(crate) events: f64,
    /// Events delivered in a second.
    pub(crate) deliveries: f64,
    /// Deliveries given up.
    pub(crate) given_up: f64,
    /// From publish to mailbox.
    pub(crate) commit: Times,
    /// In the mailbox.
    pub(crate) mailbox: Times,
    /// Syncs of the log.
    pub(crate) sync: Times,
    /// Holds of the lock on the hub's state.
    pub(crate) lock: Times,
    pub(crate) now: Now,
}

/// The median and the 99th percentile in seconds, if there was anything.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Times {
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
}

/// Gauges at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Now {
    pub(crate) agents: f64,
    pub(crate) open_tasks: f64,
    pub(crate) waiting: f64,
    pub(crate) dead_letters: f64,
    /// Age of the oldest mail, in seconds.
    pub(crate) oldest: f64,
    pub(crate) accepts: bool,
    pub(crate) has_failed: bool,
    /// The bound that is used most: its name, and the share.
    pub(crate) fullest: Option<(String, f64)>,
}

/// Counts since the start.
#[derive(Debug)]
struct Sample {
    at: Timestamp,
    events: f64,
    deliveries: f64,
    given_up: f64,
    commit: Seen,
    mailbox: Seen,
    sync: Seen,
    lock: Seen,
}

impl Numbers {
    /// Adds what the metrics say at a moment. The first time there is nothing to compare it with.
    pub(crate) fn add(&mut self, at: Timestamp, metrics: &Snapshot) {
        let sample = Sample {
            at,
            events: sum(metrics, "agenthub_events_total"),
            deliveries: sum(metrics, "agenthub_deliveries_total"),
            given_up: sum(metrics, "agenthub_undelivered_total"),
            commit: seen(metrics, "agenthub_commit_wait_seconds"),
            mailbox: seen(metrics, "agenthub_mailbox_wait_seconds"),
            sync: seen(metrics, "agenthub_log_sync_seconds"),
            lock: seen(metrics, "agenthub_lock_hold_seconds"),
        };
        if let Some(last) = &self.last {
            self.points.push_back(sample.since(last, now(metrics)));
            if self.points.len() > MOST {
                self.points.pop_front();
            }
        }
        self.last = Some(sample);
    }

    /// The points, the oldest first.
    pub(crate) fn points(&self) -> impl DoubleEndedIterator<Item = &Point> + Clone {
        self.points.iter()
    }

    /// The last point.
    pub(crate) fn latest(&self) -> Option<&Point> {
        self.points.back()
    }
}

impl Sample {
    fn since(&self, last: &Self, now: Now) -> Point {
        let after = Duration::try_from(self.at.duration_since(last.at)).unwrap_or_default();
        let rate = |now: f64, before: f64| {
            let seconds = after.as_secs_f64();
            match seconds > 0.0 {
                true => (now - before).max(0.0) / seconds,
                false => 0.0,
            }
        };
        Point {
            at: self.at,
            after,
            events: rate(self.events, last.events),
            deliveries: rate(self.deliveries, last.deliveries),
            given_up: (self.given_up - last.given_up).max(0.0),
            commit: times(&self.commit.since(&last.commit)),
            mailbox: times(&self.mailbox.since(&last.mailbox)),
            sync: times(&self.sync.since(&last.sync)),
            lock: times(&self.lock.since(&last.lock)),
            now,
        }
    }
}

fn now(metrics: &Snapshot) -> Now {
    Now {
        agents: sum(metrics, "agenthub_agents_here"),
        open_tasks: sum(metrics, "agenthub_tasks_open"),
        waiting: labelled(metrics, "agenthub_mailbox_events")
            .filter(|(state, _)| state == "waiting")
            .map(|(_, events)| events)
            .sum(),
        dead_letters: sum(metrics, "agenthub_dead_letters"),
        oldest: sum(metrics, "agenthub_mailbox_oldest_seconds"),
        accepts: sum(metrics, "agenthub_log_accepts") > 0.0,
        has_failed: sum(metrics, "agenthub_failed") > 0.0,
        fullest: fullest(metrics),
    }
}

/// The most used of the bounds beyond which something is refused.
fn fullest(metrics: &Snapshot) -> Option<(String, f64)> {
    // Bodies go to the disk beyond their bound, and of dead letters the oldest leave.
    let is_refused = |of: &str| !["bodies_bytes", "dead_letters"].contains(&of);
    let limits: Vec<(String, f64)> = labelled(metrics, "agenthub_limit").collect();
    let shares = labelled(metrics, "agenthub_used").filter_map(|(of, used)| {
        let (_, limit) = limits.iter().find(|(name, _)| *name == of)?;
        (*limit > 0.0 && is_refused(&of)).then(|| (of, used / limit))
    });
    shares.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// The values of a metric, each with its last label.
fn labelled<'a>(metrics: &'a Snapshot, name: &'a str) -> impl Iterator<Item = (String, f64)> + 'a {
    let series = metrics.series().filter(move |s| s.metric.name == name);
    let points = series.flat_map(|series| &series.points);
    points.filter_map(|point| match point.value {
        Value::Number(number) => {
            let label = point.labels.last().map(|(_, value)| value.clone());
            Some((label.unwrap_or_default(), number))
        }
        Value::Seen(_) => None,
    })
}

fn sum(metrics: &Snapshot, name: &str) -> f64 {
    labelled(metrics, name).map(|(_, number)| number).sum()
}

fn seen(metrics: &Snapshot, name: &str) -> Seen {
    let mut all = Seen::default();
    let series = metrics.series().filter(|s| s.metric.name == name);
    for point in series.flat_map(|series| &series.points) {
        if let Value::Seen(seen) = &point.value {
            all.add(seen);
        }
    }
    // Traces are for scrapers.
    all.exemplars = Vec::new();
    all
}

fn times(seen: &Seen) -> Times {
    Times {
        p50: seen.quantile(0.5),
        p99: seen.quantile(0.99),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use agenthub_metrics::{Descriptor, Histogram, bounds};

    use super::*;

    static EVENTS: Descriptor = Descriptor::counter("agenthub_events_total", "Events");
    static COMMIT: Descriptor = Descriptor::histogram("agenthub_commit_wait_seconds", "Wait");
    static ACCEPTS: Descriptor = Descriptor::gauge("agenthub_log_accepts", "Accepts");
    static USED: Descriptor = Descriptor::gauge("agenthub_used", "Used").by(&["of"]);
    static LIMIT: Descriptor = Descriptor::gauge("agenthub_limit", "Limit").by(&["of"]);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn metrics(events: u64, commit: &Histogram) -> Snapshot {
        let mut metrics = Snapshot::default();
        metrics.number(&EVENTS, events);
        metrics.histogram(&COMMIT, &[], commit);
        metrics.number(&ACCEPTS, true);
        for (of, used) in [("streams", 90_u64), ("agents", 10), ("bodies_bytes", 100)] {
            metrics.labelled(&USED, &[of], used);
            metrics.labelled(&LIMIT, &[of], 100_u64);
        }
        metrics
    }

    /// A point at which nothing is wrong.
    pub(crate) fn calm() -> Point {
        Point {
            at: at(0),
            after: INTERVAL,
            events: 0.0,
            deliveries: 0.0,
            given_up: 0.0,
            commit: Times::default(),
            mailbox: Times::default(),
            sync: Times::default(),
            lock: Times::default(),
            now: Now {
                accepts: true,
                ..Now::default()
            },
        }
    }

    /// Numbers with these points.
    pub(crate) fn of_points(points: Vec<Point>) -> Numbers {
        Numbers {
            last: None,
            points: points.into(),
        }
    }

    #[test]
    fn rates_and_percentiles_are_those_between_two_looks() {
        let commit = Histogram::new(&bounds::REQUESTS);
        commit.observe_several(20_000_000_000, 50);
        let mut numbers = Numbers::default();
        numbers.add(at(0), &metrics(100, &commit));
        assert_eq!(
            numbers.latest(),
            None,
            "one look says nothing of what goes on"
        );
        for _ in 0..100 {
            commit.observe_time(Duration::from_micros(800));
        }
        numbers.add(at(10), &metrics(400, &commit));
        let point = numbers.latest().expect("a point");
        assert_eq!((point.events, point.after), (30.0, INTERVAL));
        let p99 = point.commit.p99.expect("there were some");
        assert!(p99 < 0.001, "what was slow before is not slow now: {p99}");
        assert_eq!(point.mailbox, Times::default());
        assert_eq!(point.now.fullest, Some(("streams".to_owned(), 0.9)));
        assert!(point.now.accepts && !point.now.has_failed);
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let commit = Histogram::new(&bounds::REQUESTS);
        let mut numbers = Numbers::default();
        for look in 0..1_000 {
            numbers.add(at(look * 10), &metrics(0, &commit));
        }
        assert_eq!(numbers.points().count(), MOST);
        assert_eq!(numbers.latest().map(|point| point.at), Some(at(9_990)));
    }
}
