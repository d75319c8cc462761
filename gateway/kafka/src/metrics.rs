//! Metrics of a connector: what it carries each way, how long that takes, and how far it is behind.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use agenthub_metrics::{Counter, Descriptor, Family, Gauge, Histogram, Snapshot, bounds};

/// The most series of a metric whose labels name topics.
const SERIES: usize = 200;

static EVENTS: Descriptor = Descriptor::counter(
    "agenthub_connect_events_total",
    "Events of the hub that were read and are on Kafka as far as they are mirrored",
);

static WRITTEN: Descriptor = Descriptor::counter(
    "agenthub_connect_records_written_total",
    "Records written to topics of Kafka, those that were put aside among them",
)
.by(&["topic"]);

static TAKEN: Descriptor = Descriptor::counter(
    "agenthub_connect_records_taken_total",
    "Records of Kafka by what became of them: published, known to the hub before, own, or put aside",
)
.by(&["topic", "result"]);

static WRITES: Descriptor = Descriptor::histogram(
    "agenthub_connect_transaction_seconds",
    "Duration of transactions of Kafka, all tries included",
)
.by(&["way"]);

static DELAY: Descriptor = Descriptor::histogram(
    "agenthub_connect_delay_seconds",
    "Age of the oldest event or record of those that were carried together, once it was on the other side",
)
.by(&["way"]);

static AGAIN: Descriptor = Descriptor::counter(
    "agenthub_connect_retries_total",
    "Times that the hub or Kafka had to be asked again",
)
.by(&["of"]);

static GAPS: Descriptor = Descriptor::counter(
    "agenthub_connect_gaps_total",
    "Times that something is missing on the other side, or may be there twice, as a log no longer had it",
)
.by(&["way"]);

static LAG: Descriptor = Descriptor::gauge(
    "agenthub_connect_lag",
    "Records of Kafka that were not taken when it was last looked, every 30 s; ends of transactions count",
)
.by(&["topic"]);

static PENDING: Descriptor = Descriptor::gauge(
    "agenthub_connect_pending",
    "Events or records that are on their way",
)
.by(&["way"]);

static PENDING_SINCE: Descriptor = Descriptor::gauge(
    "agenthub_connect_pending_seconds",
    "Time for which these have been on their way",
)
.by(&["way"]);

/// A way of a connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the hub to Kafka.
    Out,
    /// From Kafka to the hub.
    In,
}

impl Way {
    const ALL: [Self; 2] = [Self::Out, Self::In];

    fn label(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
        }
    }
}

/// Figures that have to be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Hub,
    Kafka,
}

/// Fate of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Published,
    Known,
    Own,
    PutAside,
}

impl Taken {
    fn label(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Known => "known",
            Self::Own => "own",
            Self::PutAside => "put aside",
        }
    }
}

/// Metrics of a connector, see the module.
#[derive(Debug)]
pub(crate) struct Metrics {
    events: Counter,
    written: Family<Counter>,
    taken: Family<Counter>,
    writes: [Histogram; 2],
    delay: [Histogram; 2],
    again: [Counter; 2],
    gaps: [Counter; 2],
    lag: Family<Gauge>,
    /// Records on their way, and the time of their start.
    pending: [Mutex<Option<(usize, Instant)>>; 2],
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = || Histogram::new(&bounds::REQUESTS);
        Self {
            events: Counter::default(),
            written: Family::new(SERIES, Counter::default),
            taken: Family::new(SERIES, Counter::default),
            writes: [requests(), requests()],
            delay: [requests(), requests()],
            again: Default::default(),
            gaps: Default::default(),
            lag: Family::new(SERIES, Gauge::default),
            pending: Default::default(),
        }
    }
}

impl Metrics {
    /// Something is on its way.
    pub(crate) fn begins(&self, way: Way, number: usize) {
        self.set_pending(way, Some((number, Instant::now())));
    }

    /// It is on the other side; `oldest` is the time of the oldest of it.
    pub(crate) fn arrived(&self, way: Way, oldest: Option<SystemTime>) {
        self.set_pending(way, None);
        if let Some(oldest) = oldest {
            let age = SystemTime::now().duration_since(oldest);
            self.delay[way as usize].observe_time(age.unwrap_or_default());
        }
    }

    fn set_pending(&self, way: Way, pending: Option<(usize, Instant)>) {
        let place = &self.pending[way as usize];
        *place.lock().unwrap_or_else(PoisonError::into_inner) = pending;
    }

    /// Events of the hub were mirrored.
    pub(crate) fn mirrored(&self, events: usize) {
        self.events.inc_by(events as u64);
    }

    /// Records were written in one transaction.
    pub(crate) fn written<'a>(
        &self,
        way: Way,
        topics: impl Iterator<Item = &'a str>,
        took: Duration,
    ) {
        self.writes[way as usize].observe_time(took);
        topics.for_each(|topic| self.written.of(&[topic]).inc());
    }

    /// Something became of a record.
    pub(crate) fn taken(&self, topic: &str, taken: Taken) {
        self.taken.of(&[topic, taken.label()]).inc();
    }

    /// Something has to be asked again.
    pub(crate) fn again(&self, asked: Asked) {
        self.again[asked as usize].inc();
    }

    /// Something is missing, or may be there twice.
    pub(crate) fn gap(&self, way: Way) {
        self.gaps[way as usize].inc();
    }

    /// So many records of a topic are not taken yet.
    pub(crate) fn behind(&self, topic: &str, records: i64) {
        self.lag.of(&[topic]).set(records);
    }

    /// Adds the values.
    pub(crate) fn collect(&self, into: &mut Snapshot) {
        into.counter(&EVENTS, &self.events);
        into.counters(&WRITTEN, &self.written);
        into.counters(&TAKEN, &self.taken);
        for (asked, of) in [(Asked::Hub, "hub"), (Asked::Kafka, "kafka")] {
            into.labelled(&AGAIN, &[of], self.again[asked as usize].get());
        }
        for way in Way::ALL {
            let (of, n) = ([way.label()], way as usize);
            into.histogram(&WRITES, &of, &self.writes[n]);
            into.histogram(&DELAY, &of, &self.delay[n]);
            into.labelled(&GAPS, &of, self.gaps[n].get());
            let pending = *self.pending[n]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let (number, since) = pending.map_or((0, Duration::ZERO), |(number, since)| {
                (number, since.elapsed())
            });
            into.labelled(&PENDING, &of, number);
            into.labelled(&PENDING_SINCE, &of, since.as_secs_f64());
        }
        into.known(&LAG);
        into.gauges(&LAG, &self.lag);
    }
}

#[cfg(test)]
mod tests {
    use agenthub_metrics::{
        testing::assert_documented,
        text::{Format, encode},
    };

    use super::*;

    fn text(metrics: &Metrics) -> String {
        let mut snapshot = Snapshot::default();
        metrics.collect(&mut snapshot);
        encode(&snapshot, Format::Prometheus)
    }

    #[test]
    fn what_does_not_arrive_is_seen_to_wait() {
        let metrics = Metrics::default();
        metrics.begins(Way::Out, 7);
        std::thread::sleep(Duration::from_millis(2));
        let waiting = text(&metrics);
        assert!(
            waiting.contains("agenthub_connect_pending{way=\"out\"} 7\n"),
            "{waiting}"
        );
        let since = "agenthub_connect_pending_seconds{way=\"out\"} 0\n";
        assert!(!waiting.contains(since), "{waiting}");
        metrics.arrived(Way::Out, Some(SystemTime::now() - Duration::from_secs(20)));
        metrics.taken("orders", Taken::PutAside);
        metrics.behind("orders", 12);
        let arrived = text(&metrics);
        for line in [
            "agenthub_connect_pending{way=\"out\"} 0",
            "agenthub_connect_pending_seconds{way=\"out\"} 0",
            "agenthub_connect_delay_seconds_bucket{way=\"out\",le=\"10.0\"} 0",
            "agenthub_connect_delay_seconds_bucket{way=\"out\",le=\"30.0\"} 1",
            "agenthub_connect_records_taken_total{topic=\"orders\",result=\"put aside\"} 1",
            "agenthub_connect_lag{topic=\"orders\"} 12",
        ] {
            assert!(arrived.lines().any(|l| l == line), "{line} in\n{arrived}");
        }
    }

    #[test]
    fn they_are_in_the_documentation() {
        let mut snapshot = Snapshot::default();
        Metrics::default().collect(&mut snapshot);
        assert_documented(&snapshot);
    }
}
