//! Aggregates over rounds, and formatting of figures.

use std::time::Duration;

/// Median and range over all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) middle: f64,
    pub(super) high: f64,
}

impl Spread {
    /// `None` for no rounds.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        Some(Self {
            low: *values.first()?,
            middle: middle_of(&values),
            high: *values.last()?,
        })
    }
}

/// The median; of an even number of values, the mean of the two in the middle. NaN for none.
pub(super) fn middle(values: impl Iterator<Item = f64>) -> f64 {
    Spread::of(values).map_or(f64::NAN, |spread| spread.middle)
}

fn middle_of(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => f64::midpoint(sorted[half - 1], sorted[half]),
        _ => sorted[half],
    }
}

/// Milliseconds at a percentile of sorted latencies; the middle of two at the 50th.
pub(super) fn percentile_ms(sorted: &[Duration], percent: usize) -> f64 {
    if percent == 50 {
        return middle(sorted.iter().map(Duration::as_secs_f64)) * 1e3;
    }
    let at = sorted.len().saturating_sub(1) * percent / 100;
    sorted
        .get(at)
        .map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
}

/// A number with its significant digits.
pub(super) fn plain(number: f64) -> String {
    match number {
        n if n.is_nan() => "–".to_owned(),
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n if n >= 1e4 => format!("{:.0} k", n / 1e3),
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n if n >= 1.0 => format!("{n:.2}"),
        n => format!("{n:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_median() {
        assert_eq!(middle([9.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(middle([4.0, 1.0, 2.0, 9.0].into_iter()), 3.0);
        assert!(middle(std::iter::empty()).is_nan());
        let spread = Spread::of([3.0, 1.0, 2.0].into_iter()).expect("there are some");
        assert_eq!((spread.low, spread.high), (1.0, 3.0));
        assert_eq!(Spread::of(std::iter::empty()), None);
    }

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        let written: Vec<String> = [
            3_312_345.0,
            297_400.0,
            1234.5,
            42.42,
            1.234,
            0.2844,
            f64::NAN,
        ]
        .into_iter()
        .map(plain)
        .collect();
        assert_eq!(
            written,
            ["3.31 M", "297 k", "1234", "42.4", "1.23", "0.284", "–"]
        );
    }

    #[test]
    fn percentiles_are_of_sorted_latencies() {
        let ms = |n| Duration::from_millis(n);
        let sorted: Vec<Duration> = (1..=100).map(ms).collect();
        assert_eq!(percentile_ms(&sorted, 50), 50.5);
        assert_eq!(percentile_ms(&sorted, 99), 99.0);
        assert!(percentile_ms(&[], 99).is_nan());
    }
}
