//! A number of runs, so many at once.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::compare::{
    figures::middle,
    server::Server,
    tally::Tally,
    tasks::{ClosedLoop, Request},
};

/// Runs that do not count, in tenths of those that do.
const WARM_UP: u64 = 10;

/// Cost of runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Median from the request to the outcome.
    pub(super) median: Duration,
    pub(super) per_s: f64,
    /// The server's CPU time for each, in microseconds.
    pub(super) cpu_us: f64,
}

/// Carries out `runs` runs, `at_once` of them at a time, after some that do not count.
///
/// # Errors
///
/// One of them comes to nothing.
pub(super) async fn measure(
    server: &Server,
    request: &Request,
    at_once: usize,
    runs: u64,
) -> anyhow::Result<Measured> {
    let warming = Arc::new(Tally::new(false));
    let warm_up = runs.div_ceil(WARM_UP);
    let lanes = ClosedLoop::start(at_once, warm_up, &warming, request);
    lanes.all().await?;
    let tally = Arc::new(Tally::new(true));
    let (cpu, began) = (server.cpu()?, Instant::now());
    let lanes = ClosedLoop::start(at_once, runs, &tally, request);
    lanes.all().await?;
    let took = began.elapsed();
    let cpu = server.cpu()?.saturating_sub(cpu);
    let seconds = tally.take_latencies().into_iter();
    let median = middle(seconds.map(|latency| latency.as_secs_f64()));
    Ok(Measured {
        median: Duration::from_secs_f64(median),
        per_s: runs as f64 / took.as_secs_f64(),
        cpu_us: cpu.as_secs_f64() * 1e6 / runs as f64,
    })
}
