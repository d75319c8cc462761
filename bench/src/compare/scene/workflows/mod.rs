//! Runs of workflows on `agenthub up`, synced: what a step costs, steps per second, and what a run costs beside few others and many; and
//! beside Restate, whose handler calls another one as often.
//!
//! Each step asks an agent that answers at once, in this process. `place.rs` has the hub with the workflows as agents, `runs.rs` carries a
//! number of runs out.

mod place;
mod runs;

use self::{
    place::Place,
    runs::{Measured, measure},
};
use super::{Stage, ratio};
use crate::compare::{
    report::{Ratio, Sample},
    tasks::RestateService,
};

/// Steps of the long chain, and of the short one.
const LONG: u32 = 20;
const SHORT: u32 = 3;

/// Maximum of a step's median time, in milliseconds, and minimum of steps per second.
const STEP_MS: f64 = 3.0;
const STEPS_PER_S: f64 = 2_000.0;

/// Runs at once for steps per second.
const AT_ONCE: usize = 100;

/// Runs at once whose cost is held against that of one.
const MANY: usize = 1_000;

/// Runs at once beside Restate.
const BESIDE: [usize; 2] = [1, 64];

/// The time of a step, one at a time; steps per second; and the CPU time of a run beside many others, as a multiple of that of one alone.
pub(super) async fn steps(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let place = Place::start(stage, [LONG, SHORT]).await?;
    let alone = place.measure(LONG, 1, stage.few(50)).await?;
    let busy = place.measure(LONG, AT_ONCE, stage.few(500)).await?;
    let one = place.measure(SHORT, 1, stage.few(200)).await?;
    let many = place.measure(SHORT, MANY, stage.few(3_000)).await?;
    place.stop().await;
    let per_step = 1e3 / f64::from(LONG);
    Ok(vec![
        Ratio {
            hub: Sample {
                figure: alone.median.as_secs_f64() * per_step,
                cpu_us: Some(alone.cpu_us / f64::from(LONG)),
            },
            other: STEP_MS.into(),
        },
        Ratio {
            hub: Sample {
                figure: busy.per_s * f64::from(LONG),
                cpu_us: Some(busy.cpu_us / f64::from(LONG)),
            },
            other: STEPS_PER_S.into(),
        },
        ratio(many.cpu_us, one.cpu_us),
    ])
}

/// Runs of three steps per second, beside Restate; `None` without it.
pub(super) async fn beside_restate(stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
    let Some(program) = stage.restate().await else {
        return Ok(None);
    };
    let mut ratios = Vec::new();
    for at_once in BESIDE {
        let count = stage.few(100 + 20 * at_once as u64);
        let folder = stage.folder()?;
        let (server, service) = RestateService::start(program, folder.path()).await?;
        let other = measure(&server, &service.chain(), at_once, count).await?;
        drop((server, service, folder));
        let place = Place::start(stage, [SHORT]).await?;
        let hub = place.measure(SHORT, at_once, count).await?;
        place.stop().await;
        let sample = |measured: Measured| Sample {
            figure: measured.per_s,
            cpu_us: Some(measured.cpu_us),
        };
        ratios.push(Ratio {
            hub: sample(hub),
            other: sample(other),
        });
    }
    Ok(Some(ratios))
}
