//! Counts of deliveries and acknowledgements, shared by all readers.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// Marker before the time of the publish in a message's text.
pub(super) const STAMP: &[u8] = b"sent=";

/// Digits of that time, in microseconds since the tally began.
pub(super) const STAMP_DIGITS: usize = 12;

/// Counts of one measurement.
#[derive(Debug)]
pub(super) struct Tally {
    delivered: AtomicU64,
    acknowledged: AtomicU64,
    /// Wakes the publisher, which waits for room in its window.
    moved: Notify,
    began: Instant,
    latencies: Option<Mutex<Vec<Duration>>>,
}

impl Tally {
    /// A tally, optionally with latencies.
    pub(super) fn new(with_latencies: bool) -> Self {
        Self {
            delivered: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            moved: Notify::new(),
            began: Instant::now(),
            latencies: with_latencies.then(Mutex::default),
        }
    }

    /// Counts a delivered message.
    pub(super) fn message(&self, bytes: &[u8]) {
        if self.latencies.is_some()
            && let Some(sent) = stamp(bytes)
        {
            self.took(self.began.elapsed().saturating_sub(sent));
        }
    }

    /// Records a latency.
    pub(super) fn took(&self, latency: Duration) {
        if let Some(latencies) = &self.latencies {
            let mut latencies = latencies.lock().unwrap_or_else(PoisonError::into_inner);
            latencies.push(latency);
        }
    }

    /// Counts deliveries.
    pub(super) fn delivered(&self, count: u64) {
        if count > 0 {
            self.delivered.fetch_add(count, Ordering::Relaxed);
            self.moved.notify_one();
        }
    }

    /// Counts acknowledged publishes.
    pub(super) fn acknowledged(&self, count: u64) {
        if count > 0 {
            self.acknowledged.fetch_add(count, Ordering::Relaxed);
            self.moved.notify_one();
        }
    }

    pub(super) fn deliveries(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    pub(super) fn acknowledgements(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Waits until a count changes.
    pub(super) async fn moved(&self) {
        self.moved.notified().await;
    }

    /// The current time, for after [`STAMP`].
    pub(super) fn now(&self) -> String {
        format!(
            "{:0width$}",
            self.began.elapsed().as_micros(),
            width = STAMP_DIGITS
        )
    }

    /// Takes the latencies so far.
    pub(super) fn take_latencies(&self) -> Vec<Duration> {
        let kept = self.latencies.iter();
        kept.flat_map(|l| std::mem::take(&mut *l.lock().unwrap_or_else(PoisonError::into_inner)))
            .collect()
    }
}

/// Time of a message's publish.
fn stamp(bytes: &[u8]) -> Option<Duration> {
    let at = bytes.windows(STAMP.len()).position(|w| w == STAMP)? + STAMP.len();
    let digits = std::str::from_utf8(bytes.get(at..at + STAMP_DIGITS)?).ok()?;
    Some(Duration::from_micros(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_delivery_took_the_time_since_its_stamp() {
        let tally = Tally::new(true);
        let message = format!("x sent={} y", tally.now());
        tokio::time::advance(Duration::from_millis(3)).await;
        tally.message(message.as_bytes());
        tally.message(b"without a stamp");
        assert_eq!(tally.take_latencies(), [Duration::from_millis(3)]);
    }
}
