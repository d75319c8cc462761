//! A closed loop: each lane makes a request, waits for its answer, and makes the next.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::Request;
use crate::compare::tally::Tally;

/// Timeout of an answer, after which the measurement fails.
const LONGEST: Duration = Duration::from_secs(30);

/// The lanes. They end on drop.
#[derive(Debug)]
pub(in crate::compare) struct ClosedLoop {
    lanes: JoinSet<anyhow::Result<()>>,
    closing: CancellationToken,
}

impl ClosedLoop {
    /// Starts `in_flight` lanes, which make `most` requests in all. The tally counts each answer as a delivery, with
    /// its latency.
    pub(in crate::compare) fn start(
        in_flight: usize,
        most: u64,
        tally: &Arc<Tally>,
        request: &Request,
    ) -> Self {
        let closing = CancellationToken::new();
        let left = Arc::new(AtomicU64::new(most));
        let mut lanes = JoinSet::new();
        for _ in 0..in_flight {
            let (tally, closing) = (Arc::clone(tally), closing.clone());
            let (left, request) = (Arc::clone(&left), Arc::clone(request));
            lanes.spawn(async move {
                while !closing.is_cancelled() && take(&left) {
                    let began = Instant::now();
                    let answer = timeout(LONGEST, request()).await;
                    answer
                        .with_context(|| {
                            format!("no answer comes after {} others", tally.deliveries())
                        })
                        .flatten()?;
                    tally.took(began.elapsed());
                    tally.delivered(1);
                }
                Ok(())
            });
        }
        Self { lanes, closing }
    }

    /// Waits for a failed request; forever without one.
    pub(in crate::compare) async fn failed(&mut self) -> anyhow::Error {
        while let Some(lane) = self.lanes.join_next().await {
            match lane {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return error,
                Err(error) => return error.into(),
            }
        }
        std::future::pending().await
    }

    /// Makes no further requests, and waits for the answers in flight.
    ///
    /// # Errors
    ///
    /// One has failed.
    pub(in crate::compare) async fn finish(self) -> anyhow::Result<()> {
        self.closing.cancel();
        self.all().await
    }

    /// Waits until all requests were made and answered.
    ///
    /// # Errors
    ///
    /// One has failed.
    pub(in crate::compare) async fn all(mut self) -> anyhow::Result<()> {
        while let Some(lane) = self.lanes.join_next().await {
            lane??;
        }
        Ok(())
    }
}

/// Takes one of the remaining requests.
fn take(left: &AtomicU64) -> bool {
    let order = Ordering::Relaxed;
    left.fetch_update(order, order, |left| left.checked_sub(1))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::{super::request, *};

    #[tokio::test(start_paused = true)]
    async fn as_many_are_in_flight_as_there_are_lanes() {
        let tally = Arc::new(Tally::new(true));
        let request = request(|| async {
            sleep(Duration::from_millis(10)).await;
            Ok(())
        });
        let began = Instant::now();
        let lanes = ClosedLoop::start(4, 10, &tally, &request);
        lanes.all().await.expect("all are answered");
        assert_eq!(tally.deliveries(), 10);
        assert_eq!(began.elapsed(), Duration::from_millis(30));
        assert_eq!(tally.take_latencies(), [Duration::from_millis(10); 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_fails_or_is_never_answered_ends_the_measurement() {
        let tally = Arc::new(Tally::new(false));
        let fails = request(|| async { anyhow::bail!("refused") });
        let mut lanes = ClosedLoop::start(2, 2, &tally, &fails);
        assert_eq!(lanes.failed().await.to_string(), "refused");
        let stuck = request(std::future::pending);
        let lanes = ClosedLoop::start(2, 2, &tally, &stuck);
        assert!(lanes.all().await.is_err());
        assert_eq!(tally.deliveries(), 0);
    }
}
