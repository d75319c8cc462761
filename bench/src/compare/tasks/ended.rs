//! Ended tasks: memory and log space of each, and the speed of the hub with many of them.

use std::time::Duration;

use tokio::time::sleep;

use super::{
    rig::{Rig, TaskLoad},
    system::TaskSystem,
};
use crate::compare::{
    measure::Measured,
    report::{Ratio, Sample},
    scene::{Stage, ratio},
};

/// Numbers of ended tasks at which figures are taken.
struct Counts {
    /// Sizes are taken, after buffers have grown.
    few: u64,
    /// Sizes are taken again: all of these are kept in memory by default.
    some: u64,
    /// Speed and memory are taken at the end.
    many: u64,
}

const FULL: Counts = Counts {
    few: 4_000,
    some: 19_000,
    many: 1_000_000,
};

/// With `--quick`.
const QUICK: Counts = Counts {
    few: 1_000,
    some: 5_000,
    many: 10_000,
};

const IN_FLIGHT: usize = 64;

/// Maximum memory and log space of an ended task, in KiB.
const MEMORY_KIB: f64 = 2.0;
const LOG_KIB: f64 = 1.5;

/// Duration as a multiple of other measurements, so that a snapshot of the log does not dominate.
const LONGER: u32 = 5;

/// Pause before memory is read.
const CALM: Duration = Duration::from_secs(1);

/// Four ratios: tasks per second at the beginning relative to after many; log space of a task, and memory of an ended
/// task, relative to the maximum, of the first ones, and of all at the end, when the hub may have dropped some.
///
/// # Errors
///
/// The hub does not start, or a task fails.
pub(in crate::compare) async fn ended(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let load = TaskLoad {
        system: TaskSystem::HubSynced,
        hops: 1,
        in_flight: IN_FLIGHT,
    };
    let counts = if stage.is_quick() { QUICK } else { FULL };
    let rig = Rig::start(load, stage).await?;
    rig.perform(counts.few).await?;
    let few = sizes(&rig).await?;
    rig.perform(counts.some - counts.few).await?;
    let some = sizes(&rig).await?;

    let length = stage.length * LONGER;
    let beginning = rig.measure(length).await?;
    eprintln!("waiting until {} tasks have ended", counts.many);
    rig.perform(counts.many.saturating_sub(rig.ended())).await?;
    let end = rig.measure(length).await?;
    sleep(CALM).await;
    let memory = rig.memory()?;
    let ended = rig.ended();
    rig.stop().await;

    let first = counts.some - counts.few;
    let each_kib = |before: u64, after: u64, tasks: u64| {
        after.saturating_sub(before) as f64 / tasks as f64 / 1024.0
    };
    Ok(vec![
        Ratio {
            hub: per_s(&beginning),
            other: per_s(&end),
        },
        ratio(each_kib(few.log, some.log, first), LOG_KIB),
        ratio(each_kib(few.memory, some.memory, first), MEMORY_KIB),
        ratio(each_kib(few.memory, memory, ended - counts.few), MEMORY_KIB),
    ])
}

/// Sizes after a number of tasks, in bytes.
struct Sizes {
    memory: u64,
    log: u64,
}

async fn sizes(rig: &Rig) -> anyhow::Result<Sizes> {
    sleep(CALM).await;
    Ok(Sizes {
        memory: rig.memory()?,
        log: rig.log_bytes().await?,
    })
}

fn per_s(measured: &Measured) -> Sample {
    Sample {
        figure: measured.deliveries_per_s,
        cpu_us: Some(measured.cpu_us),
    }
}
