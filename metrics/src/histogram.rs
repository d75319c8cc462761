//! Histograms with fixed buckets, and exemplars: the trace of a request in each.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

/// Buckets of a histogram. Values are whole numbers: nanoseconds, bytes, or a number of things.
#[derive(Debug)]
pub struct Bounds {
    /// Upper bounds, ascending. Above the last there is one more bucket.
    upper: &'static [u64],
    /// The exported unit, in that of the values.
    unit: f64,
}

/// Buckets for what there is to measure.
pub mod bounds {
    use super::Bounds;

    const US: u64 = 1_000;
    const MS: u64 = 1_000 * US;
    const S: u64 = 1_000 * MS;

    /// Work without a wait: from 1 µs to 0.1 s.
    pub static SHORT: Bounds = Bounds {
        upper: &[
            US,
            2 * US,
            5 * US,
            10 * US,
            20 * US,
            50 * US,
            100 * US,
            500 * US,
            MS,
            5 * MS,
            10 * MS,
            100 * MS,
        ],
        unit: 1e9,
    };

    /// Requests: from 0.1 ms to 30 s.
    pub static REQUESTS: Bounds = Bounds {
        upper: &[
            100 * US,
            250 * US,
            500 * US,
            MS,
            5 * MS / 2,
            5 * MS,
            10 * MS,
            25 * MS,
            50 * MS,
            100 * MS,
            250 * MS,
            500 * MS,
            S,
            5 * S / 2,
            5 * S,
            10 * S,
            30 * S,
        ],
        unit: 1e9,
    };

    /// Work of agents: from 0.1 s to 6 hours.
    pub static WORK: Bounds = Bounds {
        upper: &[
            100 * MS,
            500 * MS,
            S,
            5 * S,
            10 * S,
            30 * S,
            60 * S,
            300 * S,
            900 * S,
            3_600 * S,
            6 * 3_600 * S,
        ],
        unit: 1e9,
    };

    /// Calls of models, as the semantic conventions say: 10 ms to 82 s.
    pub static MODEL_CALLS: Bounds = Bounds {
        upper: &[
            10 * MS,
            20 * MS,
            40 * MS,
            80 * MS,
            160 * MS,
            320 * MS,
            640 * MS,
            1_280 * MS,
            2_560 * MS,
            5_120 * MS,
            10_240 * MS,
            20_480 * MS,
            40_960 * MS,
            81_920 * MS,
        ],
        unit: 1e9,
    };

    /// Tokens, as the semantic conventions say.
    pub static TOKENS: Bounds = Bounds {
        upper: &[
            1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304,
            16_777_216, 67_108_864,
        ],
        unit: 1.0,
    };

    /// Numbers of things that were done together.
    pub static COUNTS: Bounds = Bounds {
        upper: &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 10_000],
        unit: 1.0,
    };
}

/// Time after which what comes often is noted as an exemplar again.
const AGAIN: Duration = Duration::from_millis(100);

/// A request of a bucket, so that its trace is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exemplar {
    /// The trace.
    pub trace_id: u128,
    /// Its value, in the exported unit.
    pub value: f64,
    /// Its time.
    pub at: SystemTime,
}

/// A histogram. Observing neither locks nor allocates.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static Bounds,
    /// Not cumulative.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    /// Latest of each bucket.
    exemplars: Box<[Mutex<Option<Exemplar>>]>,
}

impl Histogram {
    /// An empty histogram.
    pub fn new(bounds: &'static Bounds) -> Self {
        let buckets = bounds.upper.len() + 1;
        Self {
            bounds,
            buckets: (0..buckets).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            exemplars: (0..buckets).map(|_| Mutex::new(None)).collect(),
        }
    }

    /// Adds a value.
    pub fn observe(&self, value: u64) {
        self.observe_several(value, 1);
    }

    /// Adds a value that several things share.
    pub fn observe_several(&self, value: u64, number: u64) {
        let bucket = self.bucket(value);
        self.buckets[bucket].fetch_add(number, Ordering::Relaxed);
        let sum = value.saturating_mul(number);
        self.sum.fetch_add(sum, Ordering::Relaxed);
    }

    /// Adds a duration.
    pub fn observe_time(&self, time: Duration) {
        self.observe(nanos(time));
    }

    /// Adds a duration that several things share.
    pub fn observe_several_times(&self, time: Duration, number: u64) {
        self.observe_several(nanos(time), number);
    }

    /// Adds a duration, and the trace of what took it as an exemplar; none if it is 0. Somebody else who notes or reads an exemplar of the same
    /// bucket is not waited for.
    pub fn observe_traced(&self, time: Duration, trace_id: u128) {
        self.observe_time(time);
        self.note(time, trace_id);
    }

    /// Notes the trace of what took this long, and is observed already, as an exemplar; none if it is 0.
    pub fn note(&self, time: Duration, trace_id: u128) {
        let value = nanos(time);
        if trace_id != 0
            && let Ok(mut exemplar) = self.exemplars[self.bucket(value)].try_lock()
        {
            *exemplar = Some(Exemplar {
                trace_id,
                value: self.exported(value),
                at: SystemTime::now(),
            });
        }
    }

    /// Notes an exemplar, at most one each 100 ms and bucket. The trace is computed only if noted.
    pub fn note_now_and_then(&self, time: Duration, trace_id: impl FnOnce() -> u128) {
        let value = nanos(time);
        let Ok(mut exemplar) = self.exemplars[self.bucket(value)].try_lock() else {
            return;
        };
        let at = SystemTime::now();
        if !is_due(exemplar.map(|before| before.at), at) {
            return;
        }
        let trace_id = trace_id();
        if trace_id != 0 {
            *exemplar = Some(Exemplar {
                trace_id,
                value: self.exported(value),
                at,
            });
        }
    }

    fn bucket(&self, value: u64) -> usize {
        // Most values are in one of the first buckets.
        let upper = self.bounds.upper;
        let found = upper.iter().position(|upper| *upper >= value);
        found.unwrap_or(upper.len())
    }

    #[expect(clippy::cast_precision_loss, reason = "of what is shown")]
    fn exported(&self, value: u64) -> f64 {
        value as f64 / self.bounds.unit
    }

    /// Its observations so far.
    pub fn seen(&self) -> Seen {
        let upper = self.bounds.upper.iter();
        let exemplars = self.exemplars.iter();
        Seen {
            bounds: upper.map(|upper| self.exported(*upper)).collect(),
            buckets: self
                .buckets
                .iter()
                .map(|b| b.load(Ordering::Relaxed))
                .collect(),
            sum: self.exported(self.sum.load(Ordering::Relaxed)),
            exemplars: exemplars
                .map(|e| e.try_lock().ok().and_then(|e| *e))
                .collect(),
        }
    }
}

/// True if the exemplar of this time may make room for one of now.
fn is_due(before: Option<SystemTime>, now: SystemTime) -> bool {
    let age = before.and_then(|before| now.duration_since(before).ok());
    age.is_none_or(|age| age >= AGAIN)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Values of a histogram at a moment, in the exported unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Upper bounds of the buckets but the last, which has none.
    pub bounds: Vec<f64>,
    /// Number of values in each bucket; not cumulative.
    pub buckets: Vec<u64>,
    /// Sum of the values.
    pub sum: f64,
    /// Exemplar of each bucket.
    pub exemplars: Vec<Option<Exemplar>>,
}

impl Seen {
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Observations since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.buckets.iter().copied().chain(std::iter::repeat(0));
        Self {
            buckets: self
                .buckets
                .iter()
                .zip(before)
                .map(|(now, before)| now.saturating_sub(before))
                .collect(),
            sum: (self.sum - earlier.sum).max(0.0),
            ..self.clone()
        }
    }

    /// Adds the values of another histogram with the same buckets.
    pub fn add(&mut self, other: &Self) {
        if self.buckets.is_empty() {
            *self = other.clone();
            return;
        }
        for (mine, other) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += other;
        }
        self.sum += other.sum;
    }

    /// The value below which this share of all lies, as well as the buckets tell; `None` without any. Above the last bound, that bound.
    #[expect(clippy::cast_precision_loss, reason = "of what is shown")]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = share * count as f64;
        let mut below = 0.0;
        for (n, in_bucket) in self.buckets.iter().enumerate() {
            let in_bucket = *in_bucket as f64;
            if in_bucket > 0.0 && below + in_bucket >= wanted {
                let lower = n.checked_sub(1).map_or(0.0, |n| self.bounds[n]);
                let Some(upper) = self.bounds.get(n) else {
                    return Some(lower);
                };
                return Some(lower + (upper - lower) * ((wanted - below) / in_bucket));
            }
            below += in_bucket;
        }
        self.bounds.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::new(&bounds::COUNTS);
        for value in [0, 1, 2, 3, 5, 6, 10_000, 10_001] {
            histogram.observe(value);
        }
        let seen = histogram.seen();
        assert_eq!(seen.buckets, [2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((seen.count(), seen.sum), (8, 20_018.0));
    }

    #[test]
    fn times_are_exported_in_seconds_with_the_trace_of_the_latest() {
        let histogram = Histogram::new(&bounds::REQUESTS);
        histogram.observe_traced(Duration::from_millis(2), 7);
        histogram.observe_traced(Duration::from_millis(2), 0);
        histogram.observe_traced(Duration::from_secs(60), 9);
        let seen = histogram.seen();
        assert_eq!(seen.sum, 60.004);
        let traces: Vec<_> = seen.exemplars.iter().flatten().collect();
        assert_eq!(traces.len(), 2, "{traces:?}");
        assert_eq!((traces[0].trace_id, traces[0].value), (7, 0.002));
        assert_eq!(
            (traces[1].trace_id, traces[1].value),
            (9, 60.0),
            "above all bounds"
        );
    }

    #[test]
    fn of_what_comes_often_an_exemplar_is_noted_now_and_then() {
        let now = SystemTime::now();
        assert!(is_due(None, now));
        assert!(!is_due(Some(now), now + AGAIN / 2));
        assert!(is_due(Some(now), now + AGAIN));
        assert!(is_due(Some(now + AGAIN), now), "the clock was set back");
        let histogram = Histogram::new(&bounds::REQUESTS);
        let time = Duration::from_millis(2);
        histogram.note_now_and_then(time, || 0);
        histogram.note_now_and_then(time, || 7);
        let seen = histogram.seen();
        let traces: Vec<_> = seen.exemplars.iter().flatten().collect();
        assert_eq!(traces.len(), 1, "{traces:?}");
        assert_eq!((traces[0].trace_id, traces[0].value), (7, 0.002));
    }

    #[test]
    fn quantiles_lie_within_their_bucket_and_those_of_nothing_are_none() {
        let histogram = Histogram::new(&bounds::COUNTS);
        assert_eq!(histogram.seen().quantile(0.5), None);
        histogram.observe_several(4, 90);
        let before = histogram.seen();
        histogram.observe_several(700, 10);
        let all = histogram.seen();
        let half = all.quantile(0.5).expect("there are some");
        assert!(half > 2.0 && half < 5.0, "{half}");
        let most = all.quantile(0.99).expect("there are some");
        assert!(most > 500.0 && most <= 1_000.0, "{most}");
        let since = all.since(&before);
        assert_eq!(since.count(), 10);
        assert!(since.quantile(0.01).is_some_and(|low| low > 500.0));
        histogram.observe_several(99_999, 1_000);
        assert_eq!(histogram.seen().quantile(0.99), Some(10_000.0));
    }
}
