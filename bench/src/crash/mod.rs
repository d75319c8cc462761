//! The crash test: publishers, durable subscribers and workers around a hub that is killed with SIGKILL at random
//! moments and restarted on the same log.
//!
//! Every accepted publish is an [`operation`](operation::Operation); its witnesses must see its effect, and the
//! [`ledger`] compares their observations with the promises.

mod board;
mod hub;
mod ledger;
mod operation;
mod probe;
mod publisher;
mod report;
mod subscriber;
mod tasks;
mod workers;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use clap::Args;
use tokio::time::{Instant, sleep};

use self::{
    board::Board,
    hub::{Hub, Launcher},
    probe::Probe,
    report::Report,
    workers::{PROBE, Workers, contexts},
};

/// One kill in this many happens during the hub's start.
const EARLY: usize = 8;
/// Maximum lifetime of a hub that is killed during its start.
const EARLY_LIFE: Duration = Duration::from_millis(300);
/// Kills between two progress messages.
const NEWS: usize = 10;

/// Extent of the test.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Number of times that the hub is killed
    #[arg(long, value_name = "N", default_value_t = 100)]
    kills: usize,
    /// Makes the kills come after the same times as in another run [default: random]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Prints one line of JSON instead of a table
    #[arg(long)]
    json: bool,
    /// The hub's program [default: agenthub, beside this one]
    #[arg(long, value_name = "PATH")]
    hub_binary: Option<PathBuf>,
    /// The longest time between the hub's recovery and the next kill, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    seconds_between: f64,
    /// Time to wait without any progress for the rest at the end, in seconds: longer than the hub's ack deadline, so
    /// that what is merely late is not counted as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 45.0, value_parser = seconds)]
    patience: f64,
}

/// Parses a duration of up to an hour.
fn seconds(text: &str) -> Result<f64, String> {
    const HOUR: f64 = 3600.0;
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=HOUR).contains(&seconds) => Ok(seconds),
        _ => Err(format!("not a number of seconds from 0 to {HOUR}")),
    }
}

/// Runs the test and prints its report. Returns whether every promise was kept; if not, the hub's folder is kept.
///
/// # Errors
///
/// The hub cannot be started, or does not come back.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<bool> {
    let folder = tempfile::Builder::new()
        .prefix("agenthub-crash-")
        .tempdir()
        .context("a folder for the hub")?;
    let mut rng = fastrand::Rng::new();
    let seed = settings.seed.unwrap_or_else(|| rng.u64(..));
    let launcher = Launcher::new(settings.hub_binary.as_deref(), folder.path(), &mut rng)?;
    let result = test(&settings, &launcher, seed).await;
    if !matches!(result, Ok(true)) {
        eprintln!(
            "the hub's log and what it said are kept in {}",
            folder.keep().display()
        );
    }
    result
}

async fn test(settings: &Settings, launcher: &Launcher, seed: u64) -> anyhow::Result<bool> {
    let began = Instant::now();
    let board = Arc::new(Board::new(&contexts()));
    let probe = Probe::new(
        launcher.url(),
        board.clone(),
        PROBE,
        workers::SUBSCRIBERS[0],
    )?;
    let hub = launcher.start()?;
    let workers = Workers::start(&launcher.url(), &board, seed).await?;

    let mut killer = Killer {
        launcher,
        rng: fastrand::Rng::with_seed(seed),
        probe,
        recoveries: Vec::new(),
    };
    let between = Duration::from_secs_f64(settings.seconds_between);
    let hub = killer.kill(hub, settings.kills, between, &workers).await?;
    workers
        .finish(Duration::from_secs_f64(settings.patience))
        .await;
    drop(hub);

    let verdict = board.ledger().verdict();
    let report = Report::new(
        settings.kills,
        seed,
        &verdict,
        &killer.recoveries,
        began.elapsed(),
    );
    for example in &verdict.examples {
        eprintln!("{example}");
    }
    match settings.json {
        true => println!("{}", report.json()),
        false => println!("{}", report.text()),
    }
    Ok(verdict.is_good())
}

/// Kills hubs.
struct Killer<'a> {
    launcher: &'a Launcher,
    rng: fastrand::Rng,
    probe: Probe,
    recoveries: Vec<Duration>,
}

impl Killer<'_> {
    /// Kills this many hubs, and returns the last one, which lives.
    async fn kill(
        &mut self,
        mut hub: Hub,
        kills: usize,
        between: Duration,
        workers: &Workers,
    ) -> anyhow::Result<Hub> {
        let mut life = between;
        for kill in 1..=kills {
            sleep(life.mul_f64(self.rng.f64())).await;
            hub.kill()?;
            let killed = Instant::now();
            hub = self.launcher.start()?;
            if kill == kills || self.rng.usize(..EARLY) != 0 {
                self.probe.accepted(&mut hub).await?;
                self.recoveries.push(killed.elapsed());
                workers.are_back().await;
                life = between;
            } else {
                life = EARLY_LIFE;
            }
            if kill % NEWS == 0 {
                eprintln!("killed {kill} of {kills}");
            }
        }
        Ok(hub)
    }
}
