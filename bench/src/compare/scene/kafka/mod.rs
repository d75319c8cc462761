//! Steps over a real Kafka: from an agent's answer to its published result, calls per second through one bridge, and the time of a step.
//!
//! `agent.rs` is an agent over HTTP, `place.rs` has the hub, the bridge and the agent, `calls.rs` publishes tasks and waits for their results.
//!
//! The agent and the reader of results are this process, so that both moments are read from one clock. The first is taken before the agent's
//! answer is written to its connection, the second once the result has come back from Kafka: what is measured contains what is meant, and more.

mod agent;
mod calls;
mod place;

use std::{sync::Arc, time::Duration};

use self::{calls::Calls, place::Place};
use super::Stage;
use crate::compare::{
    figures::{middle, percentile_ms},
    report::{Ratio, Sample},
};

/// Time from a complete response to its published result, at most, in milliseconds (spec: EXE-7.5).
const RESULT_MS: f64 = 100.0;

/// Calls that are answered in the same moment.
const AT_ONCE: usize = 100;

/// Calls through a bridge per second, at least.
const CALLS_PER_S: f64 = 2_000.0;

/// Tasks that are published and have no result, at full speed.
const IN_FLIGHT: usize = 400;

/// Maximum of a step's median time, in milliseconds.
const STEP_MS: f64 = 20.0;

/// Steps of the workflow.
const STEPS: u32 = 20;

/// From the complete response to the published result: p50, p99 and the share within 100 ms, of one call at a time, and of 100 that are answered
/// in the same moment. Then calls per second.
///
/// spec: EXE-7.5
pub(super) async fn bridge(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    let Some(kafka) = stage.kafka() else {
        return Ok(None);
    };
    let place = Place::start(stage, kafka).await?;
    let bridge = place.bridge().await?;
    let calls = Arc::new(Calls::start(kafka, &place).await?);
    // So that the agent is known, its connections are open, and the code is warm.
    calls.per_second(IN_FLIGHT, stage.few(5_000)).await?;
    let mut ratios = Vec::new();
    let alone = calls.one_at_a_time(stage.few(400)).await?;
    ratios.extend(within(alone));
    let together = calls.together(AT_ONCE, stage.few(20)).await?;
    ratios.extend(within(together));
    let count = stage.few(20_000);
    let cpu = bridge.cpu()?;
    let per_s = calls.per_second(IN_FLIGHT, count).await?;
    let cpu = bridge.cpu()?.saturating_sub(cpu);
    ratios.push(Ratio {
        hub: Sample {
            figure: per_s,
            cpu_us: Some(cpu.as_secs_f64() * 1e6 / count as f64),
        },
        other: CALLS_PER_S.into(),
    });
    Ok(Some(ratios))
}

/// The time of a step of a workflow, one at a time.
pub(super) async fn steps(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    let Some(kafka) = stage.kafka() else {
        return Ok(None);
    };
    let place = Place::start(stage, kafka).await?;
    let _bridge = place.bridge().await?;
    let runs = stage.few(20);
    place.runs(STEPS, runs.div_ceil(10)).await?;
    let took = place.runs(STEPS, runs).await?;
    let seconds = took.iter().map(Duration::as_secs_f64);
    let step_ms = middle(seconds) * 1e3 / f64::from(STEPS);
    Ok(Some(vec![Ratio {
        hub: step_ms.into(),
        other: STEP_MS.into(),
    }]))
}

/// p50 and p99, held against the limit, and the share within it.
fn within(mut took: Vec<Duration>) -> [Ratio; 3] {
    took.sort_unstable();
    let limit = |ms: f64| Ratio {
        hub: ms.into(),
        other: RESULT_MS.into(),
    };
    let within = took.iter().filter(|t| t.as_secs_f64() * 1e3 <= RESULT_MS);
    [
        limit(percentile_ms(&took, 50)),
        limit(percentile_ms(&took, 99)),
        Ratio {
            hub: (within.count() as f64 / took.len() as f64).into(),
            other: 1.0.into(),
        },
    ]
}
