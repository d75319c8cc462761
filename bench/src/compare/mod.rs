//! The hub beside other brokers: in one run, in turn, on fresh servers, with the same bytes.
//!
//! `rows.rs` lists the comparisons and their goals, `side_by_side.rs` the figures of every system, `ceilings.rs` the
//! servers with clients that only count, `measure.rs` has one measurement, `scene/` the scenarios of the hub that are
//! no load on a system, `tasks/` the measurements of delegated work, `system.rs` starts each server, and `wire/` has
//! the clients. A ratio is taken within a round, in which both systems had the same machine. `document.rs` writes the
//! page with all results.

mod ceilings;
mod certificates;
mod chart;
mod document;
mod figures;
pub(crate) mod floor;
mod machine;
mod measure;
mod message;
mod method;
mod pacer;
mod programs;
mod report;
mod rows;
mod scene;
pub(crate) mod server;
mod side_by_side;
mod system;
mod tally;
pub(crate) mod tasks;
mod trial;
mod versions;
mod wire;

use std::{env, path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;

use self::{
    ceilings::Ceilings,
    document::{Contents, Folder},
    machine::{Busy, Cpus, Machine},
    programs::{ProgramPaths, Programs},
    report::Report,
    rows::{Row, rows},
    scene::Stage,
    side_by_side::SideBySide,
    system::System,
    tasks::{TaskRound, TaskTable},
    trial::tried,
};

/// Table of tasks, and prefix of its rows.
const TASKS: &str = "tasks";

/// Variable with the servers of Kafka.
const KAFKA: &str = "AGENTHUB_KAFKA";

/// Duration of a measurement with `--quick`.
const QUICK: Duration = Duration::from_millis(250);

/// Extent of the comparison.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Number of rounds; more make the medians more certain
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Length of each measurement, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_200, value_parser = clap::value_parser!(u64).range(100..))]
    length: u64,
    /// One short round
    #[arg(long, conflicts_with_all = ["rounds", "length"])]
    quick: bool,
    /// Only rows whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// File for the report of a full run, which is one without --quick and --only [default: docs of the
    /// workspace around the current folder]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "only"])]
    output: Option<PathBuf>,
    /// Servers of a real Kafka for the rows over it, which are left out without one [default: AGENTHUB_KAFKA]
    #[arg(long, value_name = "HOST:PORT")]
    kafka: Option<String>,
    /// Ends with one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    paths: ProgramPaths,
}

impl Settings {
    /// True if rows and tables of this name are to be measured.
    fn is_wanted(&self, name: &str) -> bool {
        let only = self.only.as_deref();
        only.is_none_or(|only| name.contains(only))
    }
}

/// Compares, and prints the results. Returns whether every goal was reached.
///
/// # Errors
///
/// The hub's program is missing, a given NATS server is missing, or no row has that name.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<bool> {
    let programs = Programs::find(&settings.paths)?;
    for system in [System::NatsCore, System::RedisPubSub] {
        if !system.is_here(&programs) {
            eprintln!(
                "{} is not installed here: its rows are left out",
                system.name()
            );
        }
    }
    let is_full = !settings.quick && settings.only.is_none();
    let folder = is_full.then(|| Folder::find(settings.output.as_deref()));
    let folder = folder.transpose()?;
    let (rounds, length) = match settings.quick {
        true => (1, QUICK),
        false => (settings.rounds, Duration::from_millis(settings.length)),
    };
    let kafka = settings.kafka.clone().or_else(|| env::var(KAFKA).ok());
    if kafka.is_none() {
        eprintln!("no Kafka is named with --kafka or {KAFKA}: the rows over it are left out");
    }
    let stage = Stage::new(programs, length)?.with_kafka(kafka);
    let found = measured(&settings, rounds, &stage).await?;
    println!("{}", found.report.table());
    if settings.is_wanted(TASKS) {
        println!("\n{}", found.tasks.table());
    }
    if settings.only.is_none() {
        println!("\n{}", found.side_by_side.table());
    }
    if let Some(folder) = folder {
        println!("\n{}", found.ceilings.table());
        let written = folder.write(&Contents {
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            machine: Machine::this(),
            versions: versions::versions(&stage).await,
            method: method::described(rounds, length),
            rows: found.report.table(),
            side_by_side: found.side_by_side.table(),
            ceilings: found.ceilings.table(),
            tasks: found.tasks.table(),
            fan_outs: found.report.fan_outs(),
            busy: found.busy,
        })?;
        eprintln!("the report is in {}", written.display());
    }
    if settings.json {
        println!("{}", found.report.json());
    }
    Ok(found.report.is_met())
}

/// Results of all rounds.
#[derive(Debug, Default)]
struct Results {
    report: Report,
    side_by_side: SideBySide,
    ceilings: Ceilings,
    tasks: TaskTable,
    busy: Vec<Busy>,
}

/// Measures the selected rows; without a selection also every system beside the others; without `--quick` also the
/// servers' ceilings.
async fn measured(settings: &Settings, rounds: u32, stage: &Stage) -> anyhow::Result<Results> {
    let rows: Vec<Row> = rows()
        .into_iter()
        .filter(|row| settings.is_wanted(&row.name))
        .collect();
    if let (true, Some(only)) = (rows.is_empty(), &settings.only) {
        bail!("no row's name holds \"{only}\"; docs/benchmarks.md has their names");
    }
    let Stage {
        programs, length, ..
    } = stage;
    let mut found = Results::default();
    for round in 1..=rounds {
        let began = Cpus::now()?;
        let mut tasks = TaskRound::default();
        trial::all(round, &rows, stage, &mut tasks, &mut found.report).await;
        if settings.is_wanted(TASKS) {
            found.tasks.add(tasks, stage).await;
        }
        if settings.only.is_none() {
            found.side_by_side.measure(programs, *length).await;
            if !settings.quick {
                found.ceilings.measure(programs, *length).await;
            }
        }
        found.busy.push(Busy::since(began)?);
        eprintln!("round {round} of {rounds} is over");
    }
    Ok(found)
}
