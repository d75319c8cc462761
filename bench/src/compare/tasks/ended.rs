//! Ended tasks: the memory and the log of each, and the speed of the hub with many of them.

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

/// Ended tasks at which sizes are taken: the first after buffers have grown, the second below the number that a hub keeps in memory.
const FEW: u64 = 4_000;
const SOME: u64 = 19_000;

/// Ended tasks at the end of a full run, and of a quick one.
const MANY: u64 = 1_000_000;
const QUICK: u64 = 40_000;

const IN_FLIGHT: usize = 64;

/// Allowed memory and log of an ended task, in KiB.
const MEMORY_KIB: f64 = 2.0;
const LOG_KIB: f64 = 1.5;

/// Length of these measurements, in those of others, so that a snapshot of the log does not decide.
const LONGER: u32 = 5;

/// Pause before memory is read.
const CALM: Duration = Duration::from_secs(2);

/// Three ratios: tasks a second at the beginning ÷ after many; memory of an ended task ÷ what is allowed; log of a task ÷ what is allowed.
///
/// # Errors
///
/// The hub does not start, or a task comes to nothing.
pub(in crate::compare) async fn ended(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let load = TaskLoad {
        system: TaskSystem::HubSynced,
        hops: 1,
        in_flight: IN_FLIGHT,
    };
    let rig = Rig::start(load, stage).await?;
    rig.perform(FEW).await?;
    let few = sizes(&rig).await?;
    rig.perform(SOME - FEW).await?;
    let some = sizes(&rig).await?;
    let each = |few: u64, some: u64| {
        let bytes = some.saturating_sub(few) as f64;
        bytes / (SOME - FEW) as f64 / 1024.0
    };
    let memory = each(few.memory, some.memory);
    let log = each(few.log, some.log);

    let length = stage.length * LONGER;
    let beginning = rig.measure(length).await?;
    let many = if stage.is_quick() { QUICK } else { MANY };
    eprintln!("waiting until {many} tasks have ended");
    rig.perform(many - SOME).await?;
    let end = rig.measure(length).await?;
    rig.stop().await;
    Ok(vec![
        Ratio {
            hub: per_s(&beginning),
            other: per_s(&end),
        },
        ratio(memory, MEMORY_KIB),
        ratio(log, LOG_KIB),
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
