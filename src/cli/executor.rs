//! Executors of workflows, on the command line.

use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use super::{Folder, Hub, Kafka, Keep, Layer, Layers, Metrics};

/// `agenthub executor`
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true, arg_required_else_help = true, after_long_help = ONE)]
pub(crate) struct Executor {
    #[command(subcommand)]
    pub(crate) serve: Option<ExecutorCommand>,
    /// The run to carry out
    #[arg(long, value_name = "ID", required = true)]
    pub(crate) run: Option<String>,
    /// Its name as driver in the journal; the same name takes over its own run at once
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) driver: Option<String>,
    /// Lets the run go when standard input ends
    #[arg(long, hide = true)]
    pub(crate) attached: bool,
    #[command(flatten)]
    pub(crate) kafka: Kafka,
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

/// `agenthub executor serve`
#[derive(Debug, Subcommand)]
pub(crate) enum ExecutorCommand {
    /// Takes the runs of workflows that are asked for, and has each carried out by an executor of its own
    #[command(after_long_help = SERVE)]
    Serve(ServeExecutors),
}

/// `agenthub executor serve`
#[derive(Debug, Args)]
pub(crate) struct ServeExecutors {
    /// Form of an executor: a task of this process, or a process of its own
    #[arg(long, value_enum, value_name = "FORM", default_value = "processes")]
    pub(crate) spawn: Executors,
    /// Runs that are carried out at once; further ones wait [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) max: Option<MaxExecutors>,
    /// Prints one JSON object once requests are taken: hub, spawn and max
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) kafka: Kafka,
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    metrics: Metrics,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

/// Bound on the runs that executors carry out at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub(crate) struct MaxExecutors(u32);

impl MaxExecutors {
    /// The largest bound.
    const MOST: u32 = 10_000;

    /// The runs.
    pub(crate) fn runs(self) -> usize {
        self.0 as usize
    }
}

impl Default for MaxExecutors {
    fn default() -> Self {
        Self(64)
    }
}

impl TryFrom<u32> for MaxExecutors {
    type Error = String;

    fn try_from(runs: u32) -> Result<Self, String> {
        match (1..=Self::MOST).contains(&runs) {
            true => Ok(Self(runs)),
            false => Err(format!("{runs} is not from 1 to {}", Self::MOST)),
        }
    }
}

impl FromStr for MaxExecutors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let runs: u32 = text
            .parse()
            .map_err(|_| format!("`{text}` is no whole number from 1 to {}", Self::MOST))?;
        runs.try_into()
    }
}

/// Form of executors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Executors {
    /// Tasks of the process
    #[default]
    Tasks,
    /// Processes of their own
    Processes,
}

const ONE: &str = "\
Carries out one run that the journal in the data folder has, and ends with it. Waits for the hub, and for as long as another executor has the run. \
What a run has done is in the journal: a step that has completed does not run again. On SIGTERM the run is let go, for another executor.

Exit codes: 0 the run has completed; 1 it has failed or was cancelled; 2 there is no such run; 3 it has completed, in part; 130 the run was let go before its end; 75 the journal does not answer; 70 it cannot be carried out here.";

const SERVE: &str = "\
Takes the place of the agent `workflows` of `agenthub up`, for a hub that runs as `agenthub broker`, with the same data folder. An executor that dies is replaced, \
after a pause that doubles; a run whose executors die seven times in a row without an event in between, of the run or of one within it, has failed, and what it did is taken back. \
When this process stops or is killed, its executors let their runs go, and end; the next one goes on with them.";

impl Layers for Executor {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        match &self.serve {
            Some(ExecutorCommand::Serve(serve)) => serve.kafka.over(Layer {
                max_executors: serve.max,
                hub: serve.hub.hub.clone(),
                keep_runs: serve.keep.layer(),
                metrics: serve.metrics.metrics,
                ..serve.folder.layer()
            }),
            None => self.kafka.over(Layer {
                hub: self.hub.hub.clone(),
                ..self.folder.layer()
            }),
        }
    }
}
