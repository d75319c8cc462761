//! Calls that wait for their task: their latency beside direct calls, and their number per second.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tokio::task::JoinSet;

use super::{
    binding::{Binding, Caller},
    direct::Direct,
    place::Place,
};
use crate::compare::{
    figures::percentile_ms,
    measure::watch,
    pacer::Pacer,
    report::{Ratio, Sample},
    scene::{Stage, disk_sync_ms},
    system::System,
    tally::Tally,
    tasks::{ClosedLoop, request, text},
};

/// Steady rate of calls, per second.
const RATE: u32 = 100;

/// Calls of one latency measurement at least, but with `--quick`: the 99th percentile needs them.
const CALLS: u32 = 400;

/// Calls before those that count.
const WARM_UP: u32 = 50;

/// Maximum that the hub adds to the median call, in milliseconds: in memory, and synced beside two syncs of the disk.
const MEMORY_MS: f64 = 0.5;
const SYNCED_MS: f64 = 1.0;

/// The same of the 99th percentile.
const MEMORY_P99_MS: f64 = 2.0;
const SYNCED_P99_MS: f64 = 4.0;

/// Syncs of the disk that a call waits for: its request, and its answer.
const SYNCS: f64 = 2.0;

/// Calls in flight at full speed, and the goal per second.
const IN_FLIGHT: usize = 64;
const PER_S: f64 = 5_000.0;

/// Milliseconds that the hub adds to a call: p50 and p99 of each binding.
pub(in crate::compare::scene) async fn added(
    system: System,
    stage: &Stage,
) -> anyhow::Result<Vec<Ratio>> {
    let (most_p50, most_p99) = match system {
        System::HubSynced => {
            let syncs = SYNCS * disk_sync_ms(stage).await?;
            (SYNCED_MS + syncs, SYNCED_P99_MS + syncs)
        }
        _ => (MEMORY_MS, MEMORY_P99_MS),
    };
    let direct = Direct::start(text('a')).await?;
    let place = Place::start(system, stage, 64, text('a'), None).await?;
    let mut ratios = Vec::new();
    for binding in Binding::ALL {
        let calls = match stage.is_quick() {
            true => WARM_UP,
            false => CALLS,
        };
        let caller = Caller::connect(binding, &direct.address, text('q')).await?;
        let alone = latencies(&caller, calls).await?;
        let caller = Caller::connect(binding, &place.address, text('q')).await?;
        latencies(&caller, WARM_UP).await?;
        let cpu = place.server.cpu()?;
        let through = latencies(&caller, calls).await?;
        let cpu = place.server.cpu()?.saturating_sub(cpu).as_secs_f64() * 1e6 / f64::from(calls);
        for (percent, most) in [(50, most_p50), (99, most_p99)] {
            let added = percentile_ms(&through, percent) - percentile_ms(&alone, percent);
            ratios.push(Ratio {
                hub: Sample {
                    figure: added,
                    cpu_us: Some(cpu),
                },
                other: most.into(),
            });
        }
    }
    place.stop().await;
    Ok(ratios)
}

/// Calls per second at full speed, of each binding.
pub(in crate::compare::scene) async fn per_second(
    system: System,
    stage: &Stage,
) -> anyhow::Result<Vec<Ratio>> {
    let concurrency = u32::try_from(IN_FLIGHT)?;
    let place = Place::start(system, stage, concurrency, text('a'), None).await?;
    let mut ratios = Vec::new();
    for binding in Binding::ALL {
        let caller = Caller::connect(binding, &place.address, text('q')).await?;
        let call = request(move || {
            let caller = caller.clone();
            async move { caller.call().await }
        });
        let tally = Arc::new(Tally::new(true));
        let mut lanes = ClosedLoop::start(IN_FLIGHT, u64::MAX, &tally, &call);
        let measured = tokio::select! {
            measured = watch(&place.server, &tally, stage.length) => measured?,
            error = lanes.failed() => return Err(error),
        };
        lanes.finish().await?;
        ratios.push(Ratio {
            hub: Sample {
                figure: measured.deliveries_per_s,
                cpu_us: Some(measured.cpu_us),
            },
            other: PER_S.into(),
        });
    }
    place.stop().await;
    Ok(ratios)
}

/// Latencies of calls at the steady rate, sorted.
async fn latencies(caller: &Caller, calls: u32) -> anyhow::Result<Vec<Duration>> {
    let mut ticks = Pacer::start(RATE);
    let mut running = JoinSet::new();
    for _ in 0..calls {
        if !ticks.tick().await {
            break;
        }
        let caller = caller.clone();
        running.spawn(async move {
            let began = Instant::now();
            caller.call().await?;
            Ok::<_, anyhow::Error>(began.elapsed())
        });
    }
    let mut took = Vec::new();
    while let Some(call) = running.join_next().await {
        took.push(call?.context("a call fails")?);
    }
    took.sort_unstable();
    Ok(took)
}
