//! The kill test of runs: requesters around a hub, Cortex, a worker and a supervisor, each of which is killed or
//! terminated at random moments, and restarted in the same folder.
//!
//! In the end every request must have been answered, once; its work requested once; no task and no run open; and no
//! program may have outlived its parent.

mod audit;
mod cast;
mod report;
mod requests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use agenthub_sdk::Client;
use anyhow::Context as _;
use clap::Args;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use self::{
    audit::{Calls, Orphans},
    cast::{Cast, End},
    report::Report,
    requests::Requests,
};
use crate::program;

/// Concurrent requests.
const AT_ONCE: usize = 6;
/// One end in this many is a SIGTERM.
const TOLD: usize = 5;
/// Maximum downtime of a process.
const AWAY: Duration = Duration::from_secs(1);
/// Interval of checks for orphans.
const GLANCE: Duration = Duration::from_millis(500);
/// Ends between two progress messages.
const NEWS: u64 = 100;

/// Extent of the test.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// For how long processes are killed, in minutes
    #[arg(long, value_name = "N", default_value_t = 60)]
    minutes: u32,
    /// Makes the victims and the times between the same as in another run [default: random]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Prints one line of JSON instead of a table
    #[arg(long)]
    json: bool,
    /// The program that all are processes of [default: agenthub, beside this one]
    #[arg(long, value_name = "PATH")]
    hub_binary: Option<PathBuf>,
    /// The longest time between two ends, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds_between: u32,
    /// Time to wait without any progress for the rest at the end, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=3600))]
    patience: u32,
}

/// Runs the test and prints its report. Returns whether everything ended, once; if not, the folder is kept.
///
/// # Errors
///
/// The program cannot be started, or a process ends by itself.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<bool> {
    let folder = tempfile::Builder::new()
        .prefix("agenthub-kills-")
        .tempdir()
        .context("a folder for the processes")?;
    let path = folder
        .path()
        .canonicalize()
        .context("where the folder is")?;
    // An early end ends the processes as well.
    let result = tokio::select! {
        result = test(&settings, &path) => result,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    if !matches!(result, Ok(true)) {
        eprintln!(
            "what the processes kept and said is in {}",
            folder.keep().display()
        );
    }
    result
}

async fn test(settings: &Settings, folder: &Path) -> anyhow::Result<bool> {
    let began = Instant::now();
    let seed = settings.seed.unwrap_or_else(|| fastrand::u64(..));
    let program = program::find(settings.hub_binary.as_deref())?;
    let mut ports = fastrand::Rng::new();
    let addresses = [
        program::free_address(&mut ports)?,
        program::free_address(&mut ports)?,
    ];
    let cast = Cast::start(program, folder, addresses)?;
    let client = client(&cast.url()).await?;

    let requests = Requests::default();
    let lanes = TaskTracker::new();
    for _ in 0..AT_ONCE {
        lanes.spawn(requests.clone().ask(client.clone()));
    }
    lanes.close();
    let mut killer = Killer {
        cast,
        folder,
        rng: fastrand::Rng::with_seed(seed),
        orphans: Orphans::default(),
        report: Report::new(seed),
    };
    let until = began + Duration::from_secs(60 * u64::from(settings.minutes));
    let between = Duration::from_secs(settings.seconds_between.into());
    while Instant::now() < until {
        killer.end_one(between).await?;
    }
    requests.closing.cancel();
    let patience = Duration::from_secs(settings.patience.into());
    killer.settle(&requests, patience).await;
    let (tasks, runs) = killer.open(patience).await?;
    let answered_twice = requests.answered_twice(&client).await;
    killer.end_all().await?;
    client.close().await;

    let calls = Calls::in_folder(folder);
    let Killer {
        mut report,
        orphans,
        ..
    } = killer;
    let tally = requests.tally();
    report.requests(&tally, &answered_twice);
    report.audit(&calls, &tasks, &runs);
    report.left_behind = orphans.left.len() as u64;
    report.took(began.elapsed());
    let faults = tally
        .failed
        .iter()
        .chain(&answered_twice)
        .chain(&tally.open);
    let faults = faults
        .chain(&calls.under_two_keys)
        .chain(&tasks)
        .chain(&runs);
    for fault in faults.chain(&orphans.left) {
        eprintln!("{fault}");
    }
    match settings.json {
        true => println!("{}", report.json()),
        false => println!("{}", report.text()),
    }
    Ok(report.is_good())
}

/// A requester's client, as soon as the hub is ready.
async fn client(url: &str) -> anyhow::Result<Client> {
    const JOIN: Duration = Duration::from_secs(20);
    let began = Instant::now();
    loop {
        match Client::builder(url).connect().await {
            Ok(client) => return Ok(client),
            Err(error) if began.elapsed() > JOIN => return Err(error).context("the hub"),
            Err(_) => sleep(GLANCE).await,
        }
    }
}

/// Ends and restarts processes.
struct Killer<'a> {
    cast: Cast,
    folder: &'a Path,
    rng: fastrand::Rng,
    orphans: Orphans,
    report: Report,
}

impl Killer<'_> {
    /// Ends one of them after a while, and restarts it.
    async fn end_one(&mut self, between: Duration) -> anyhow::Result<()> {
        let pause = between.mul_f64(self.rng.f64());
        self.pause(pause).await;
        let victim = self.rng.usize(..self.cast.len());
        let end = match self.rng.usize(..TOLD) {
            0 => End::Terminated,
            _ => End::Killed,
        };
        self.end(victim, end).await?;
        let away = AWAY.mul_f64(self.rng.f64());
        self.pause(away).await;
        self.cast.begin(victim)?;
        let ends = self.report.killed + self.report.told_to_end;
        if ends.is_multiple_of(NEWS) {
            eprintln!("{ends} processes were ended");
        }
        Ok(())
    }

    async fn end(&mut self, victim: usize, end: End) -> anyhow::Result<()> {
        match end {
            End::Killed => self.report.killed += 1,
            End::Terminated => self.report.told_to_end += 1,
        }
        let in_time = self.cast.end(victim, end).await?;
        self.report.ended_late += u64::from(!in_time);
        Ok(())
    }

    /// Checks for orphans during a pause.
    async fn pause(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.orphans.look(self.folder, &self.cast.living());
            let left = until.saturating_duration_since(Instant::now());
            sleep(left.min(GLANCE)).await;
        }
    }

    /// Waits until every request has ended, or nothing has arrived for `patience`.
    async fn settle(&mut self, requests: &Requests, patience: Duration) {
        let mut open = requests.tally().open.len();
        let mut since = Instant::now();
        while open > 0 && since.elapsed() < patience {
            self.pause(GLANCE).await;
            let left = requests.tally().open.len();
            if left != open {
                since = Instant::now();
            }
            open = left;
        }
    }

    /// Open tasks and runs once nothing more arrives.
    async fn open(&mut self, patience: Duration) -> anyhow::Result<(Vec<String>, Vec<String>)> {
        let began = Instant::now();
        loop {
            match audit::open(&self.cast).await {
                Ok((tasks, runs)) if tasks.is_empty() && runs.is_empty() => {
                    return Ok((tasks, runs));
                }
                late if began.elapsed() > patience => return late,
                _ => {}
            }
            self.pause(GLANCE).await;
        }
    }

    /// Kills all, and waits until no orphan is left, or the timeout.
    async fn end_all(&mut self) -> anyhow::Result<()> {
        for victim in 0..self.cast.len() {
            self.end(victim, End::Killed).await?;
        }
        loop {
            self.orphans.look(self.folder, &[]);
            if !self.orphans.is_waiting() {
                return Ok(());
            }
            sleep(GLANCE).await;
        }
    }
}
