//! `agenthub-bench tasks`: measures one load, and prints the result. For work on the path of a task.

use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::{
    rig::{Rig, TaskLoad},
    system::TaskSystem,
};
use crate::compare::{
    programs::{ProgramPaths, Programs},
    scene::Stage,
};

/// The load, and the duration of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Tasks in flight
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: u16,
    /// Length of the measurement, in seconds
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// Measure another system in place of the hub
    #[arg(long, value_name = "NAME", conflicts_with = "ephemeral")]
    beside: Option<Beside>,
    /// Everything in memory, nothing on disk
    #[arg(long)]
    ephemeral: bool,
    /// Agents that a task passes through: each but the last delegates to the next
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=10))]
    chain: u8,
    /// Tasks to perform first, over which the size of the log is taken [default: 5000; 500 with one in flight]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    ended: Option<u64>,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    paths: ProgramPaths,
}

/// Systems that can be measured in place of the hub.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Beside {
    Nats,
    Jetstream,
    Restate,
}

impl Settings {
    fn load(&self) -> TaskLoad {
        let system = match (self.beside, self.ephemeral) {
            (None, false) => TaskSystem::HubSynced,
            (None, true) => TaskSystem::HubMemory,
            (Some(Beside::Nats), _) => TaskSystem::NatsCore,
            (Some(Beside::Jetstream), _) => TaskSystem::JetStream,
            (Some(Beside::Restate), _) => TaskSystem::Restate,
        };
        TaskLoad {
            system,
            hops: self.chain.into(),
            in_flight: self.in_flight.into(),
        }
    }
}

/// Measures, and prints the figures.
///
/// # Errors
///
/// The system is missing, or a task failed.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<bool> {
    let length = Duration::try_from_secs_f64(settings.seconds)?;
    let stage = Stage::new(Programs::find(&settings.paths)?, length)?;
    let load = settings.load();
    if !load.system.is_here(&stage).await {
        bail!("{} is not installed here", load.system.name());
    }
    if load.system == TaskSystem::Restate && load.hops > 1 {
        bail!("the service of Restate asks nobody: leave --chain out");
    }
    let rig = Rig::start(load, &stage).await?;
    let empty = rig.log_bytes().await?;
    let ended = settings.ended.unwrap_or(match load.in_flight {
        1 => 500,
        _ => 5_000,
    });
    rig.perform(ended).await?;
    let log_bytes = rig.log_bytes().await?.saturating_sub(empty) / ended;
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
            "serverCpuUs": measured.cpu_us,
            "clientCpuUs": measured.client_cpu_us,
            "serverMib": memory_mib,
            "logBytes": log_bytes,
            "others": others,
        });
        println!("{line}");
        return Ok(true);
    }
    println!("tasks/s           {:10.0}", measured.deliveries_per_s);
    println!("p50               {p50:10.3} ms");
    println!("p99               {p99:10.3} ms");
    println!("server CPU        {:10.1} µs per task", measured.cpu_us);
    println!(
        "client CPU        {:10.1} µs per task",
        measured.client_cpu_us
    );
    println!("server memory     {memory_mib:10.1} MiB");
    println!("log               {log_bytes:10} B per task");
    println!("others' CPU       {:10.0} %", others * 100.0);
    Ok(true)
}
