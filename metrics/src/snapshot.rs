//! All metrics of a process at a moment.

use std::collections::BTreeMap;

use crate::{Counter, Descriptor, Family, Gauge, Histogram, Seen};

/// The metrics, by name. Who has instruments adds their values.
#[derive(Debug, Default)]
pub struct Snapshot {
    series: BTreeMap<&'static str, Series>,
    /// Labels of all that is added.
    within: Vec<(&'static str, String)>,
}

/// All values of one metric.
#[derive(Debug)]
pub struct Series {
    /// The metric.
    pub metric: &'static Descriptor,
    /// The values; none if it has no labels' values so far.
    pub points: Vec<Point>,
}

/// A value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Labels, in the metric's order.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a counter or a gauge.
    Number(f64),
    /// Of a histogram.
    Seen(Seen),
}

impl Snapshot {
    /// Adds a label to all that `add` adds: one of a small set.
    pub fn within(&mut self, label: &'static str, value: &str, add: impl FnOnce(&mut Self)) {
        self.within.push((label, value.to_owned()));
        add(self);
        self.within.pop();
    }

    /// Adds a number without labels.
    pub fn number(&mut self, metric: &'static Descriptor, value: impl IntoNumber) {
        self.labelled(metric, &[], value);
    }

    /// Adds a number with the values of its labels.
    pub fn labelled(
        &mut self,
        metric: &'static Descriptor,
        labels: &[&str],
        value: impl IntoNumber,
    ) {
        self.add(metric, labels, Value::Number(value.into_number()));
    }

    /// Adds a counter.
    pub fn counter(&mut self, metric: &'static Descriptor, counter: &Counter) {
        self.number(metric, counter.get());
    }

    /// Adds a histogram.
    pub fn histogram(
        &mut self,
        metric: &'static Descriptor,
        labels: &[&str],
        histogram: &Histogram,
    ) {
        self.add(metric, labels, Value::Seen(histogram.seen()));
    }

    /// Adds counters by labels.
    pub fn counters(&mut self, metric: &'static Descriptor, family: &Family<Counter>) {
        self.known(metric);
        self.counters_if_any(metric, family);
    }

    /// Adds counters by labels, if there are any.
    pub fn counters_if_any(&mut self, metric: &'static Descriptor, family: &Family<Counter>) {
        for (labels, counter) in family.all() {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            self.labelled(metric, &labels, counter.get());
        }
    }

    /// Adds gauges by labels, if there are any.
    pub fn gauges(&mut self, metric: &'static Descriptor, family: &Family<Gauge>) {
        for (labels, gauge) in family.all() {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            self.labelled(metric, &labels, gauge.get());
        }
    }

    /// Adds histograms by labels.
    pub fn histograms(&mut self, metric: &'static Descriptor, family: &Family<Histogram>) {
        self.known(metric);
        for (labels, histogram) in family.all() {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            self.histogram(metric, &labels, &histogram);
        }
    }

    /// Adds a metric that may have no value yet.
    pub fn known(&mut self, metric: &'static Descriptor) {
        self.of(metric);
    }

    fn add(&mut self, metric: &'static Descriptor, labels: &[&str], value: Value) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        let own = metric.labels.iter().copied();
        let own = own.zip(labels.iter().map(|label| (*label).to_owned()));
        let labels = self.within.iter().cloned().chain(own).collect();
        self.of(metric).points.push(Point { labels, value });
    }

    fn of(&mut self, metric: &'static Descriptor) -> &mut Series {
        self.series.entry(metric.name).or_insert_with(|| Series {
            metric,
            points: Vec::new(),
        })
    }

    /// The metrics, by name.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        self.series.values()
    }
}

/// A number of a metric.
pub trait IntoNumber {
    /// It as a float: exact up to 2⁵³.
    fn into_number(self) -> f64;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl IntoNumber for $number {
            #[allow(clippy::cast_precision_loss)]
            fn into_number(self) -> f64 {
                self as f64
            }
        }
    )*};
}
numbers!(u64, i64, usize);

impl IntoNumber for f64 {
    fn into_number(self) -> f64 {
        self
    }
}

impl IntoNumber for bool {
    fn into_number(self) -> f64 {
        f64::from(u8::from(self))
    }
}
