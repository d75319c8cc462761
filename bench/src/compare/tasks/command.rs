//! `agenthub-bench tasks`: one load, as often as somebody who makes the hub faster wants to see it.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::rig::{Rig, TaskLoad};
use crate::compare::{
    programs::{ProgramPaths, Programs},
    system::System,
};

/// Tasks that a hub has done before it is measured, and of which the log is measured.
const BEFORE: u64 = 5_000;

/// What is measured, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Tasks that are in flight at one time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: u16,
    /// How long is counted
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// Everything in memory, nothing on disk
    #[arg(long)]
    ephemeral: bool,
    /// Agents that a task passes through: each but the last delegates to the next
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=10))]
    chain: u8,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    paths: ProgramPaths,
}

/// Measures, and prints what came of it.
///
/// # Errors
///
/// There is no hub, or a task came to nothing.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<bool> {
    let programs = Programs::find(&settings.paths)?;
    let load = TaskLoad {
        hub: match settings.ephemeral {
            true => System::HubMemory,
            false => System::HubSynced,
        },
        hops: settings.chain.into(),
        in_flight: settings.in_flight.into(),
    };
    let rig = Rig::start(load, &programs).await?;
    let empty = rig.log_bytes().await?;
    // One at a time they would take long.
    let before = match load.in_flight {
        1 => BEFORE / 10,
        _ => BEFORE,
    };
    rig.perform(before).await?;
    let log_bytes = rig.log_bytes().await?.saturating_sub(empty) / before;
    let length = Duration::try_from_secs_f64(settings.seconds)?;
    let measured = rig.measure(length).await?;
    rig.stop().await;
    let [p50, p99] = [50, 99].map(|percent| measured.percentile_ms(percent));
    let memory_mib = measured.memory as f64 / f64::from(1 << 20);
    let others = measured.on_others;
    if settings.json {
        let line = json!({
            "tasksPerS": measured.deliveries_per_s,
            "p50Ms": p50,
            "p99Ms": p99,
            "hubCpuUs": measured.cpu_us,
            "clientCpuUs": measured.client_cpu_us,
            "hubMib": memory_mib,
            "logBytes": log_bytes,
            "others": others,
        });
        println!("{line}");
        return Ok(true);
    }
    println!("tasks/s           {:10.0}", measured.deliveries_per_s);
    println!("p50               {p50:10.3} ms");
    println!("p99               {p99:10.3} ms");
    println!("hub CPU           {:10.1} µs per task", measured.cpu_us);
    println!(
        "client CPU        {:10.1} µs per task",
        measured.client_cpu_us
    );
    println!("hub memory        {memory_mib:10.1} MiB");
    println!("log               {log_bytes:10} B per task");
    println!("others' CPU       {:10.0} %", others * 100.0);
    Ok(true)
}
