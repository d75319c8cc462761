//! Starting a run, and flags that commands of runs share.

use std::path::PathBuf;

use agenthub_terminal::complete;
use clap::Args;
use clap_complete::ArgValueCompleter;
use uuid::Uuid;

use super::{Folder, Hub, Layer, Layers, Model};

/// Address of Cortex.
#[derive(Debug, Args)]
pub(crate) struct CortexAt {
    #[command(flatten)]
    pub(crate) hub: Hub,
    /// Cortex's own address, where it does not serve at the hub's
    #[arg(long, value_name = "URL")]
    pub(crate) cortex: Option<String>,
}

/// `agenthub run`
#[derive(Debug, Args)]
#[command(after_long_help = RUN)]
pub(crate) struct Run {
    /// The brief, a file of YAML or JSON, or - for standard input
    #[arg(required_unless_present = "objective")]
    pub(crate) brief: Option<PathBuf>,
    /// The objective; flags go before the file
    #[arg(long, value_name = "TEXT")]
    pub(crate) objective: Option<String>,
    /// app plans, hands off and reviews; chat is one turn with one agent [default: app]
    #[arg(long, value_name = "MODE", value_parser = ["app", "chat"])]
    pub(crate) mode: Option<String>,
    /// In chat mode the agent to talk with [default: Cortex]
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: Option<String>,
    /// The thread that it belongs to: its runs share history and artifacts, and one is active at a time
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// The series whose earlier results it learns from [default: the thread]
    #[arg(long, value_name = "ID")]
    pub(crate) series: Option<String>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) key: IdempotencyKey,
    /// Prints the run's id and leaves it running
    #[arg(long, conflicts_with_all = ["json", "output"])]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) shown: DisplayFlags,
    /// Runs the hub, Cortex and the agents in this process, for the time of the run
    #[arg(long, conflicts_with_all = ["hub", "cortex", "detach"])]
    pub(crate) here: bool,
    #[command(flatten)]
    pub(crate) at: CortexAt,
    #[command(flatten)]
    pub(crate) model: Model,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

/// Key by which a request for a run is known again.
#[derive(Debug, Args)]
pub(crate) struct IdempotencyKey {
    /// The same key and request start one run, however often
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl IdempotencyKey {
    /// The key, or one of this call alone, so that what is sent again because the answer was lost starts no second run.
    pub(crate) fn of_call(&self) -> String {
        let given = self.idempotency_key.clone();
        given.unwrap_or_else(|| Uuid::now_v7().to_string())
    }
}

/// Limits of a run.
#[derive(Debug, Default, Args)]
pub(crate) struct Limits {
    /// The least score of a review, from 0 to 1 [default: 0.7]
    #[arg(long, value_name = "SCORE")]
    pub(crate) quality: Option<f64>,
    /// Maximum times that something is made, the first included [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// A criterion for the result, beside those of the brief; may be repeated
    #[arg(long = "criterion", value_name = "TEXT")]
    pub(crate) criteria: Vec<String>,
    /// A capability that a person has to allow each time, or * for all; may be repeated
    #[arg(long = "approval", value_name = "CAPABILITY")]
    pub(crate) approvals: Vec<String>,
    /// The tokens that it may cost
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
}

/// Display of a run.
#[derive(Debug, Args)]
pub(crate) struct DisplayFlags {
    /// Prints the run's frames, one JSON object a line, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Writes what comes of it to a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const RUN: &str = "\
Where no hub was named and none listens at the default address, the hub, Cortex and the agents run in this process for the time of the \
run, on the data folder of `agenthub up`.

The run is shown on standard error, what comes of it on standard output. On a terminal, what waits for a person's yes is asked for on the \
spot; elsewhere `agenthub runs approve` answers.

A run goes on when nobody watches. Ctrl-C asks whether to leave or to cancel it; a second Ctrl-C cancels. Where there is no terminal to ask on, \
Ctrl-C only leaves. `agenthub runs watch ID` comes back to it. A run of this process waits while the process is gone: \
`agenthub runs watch ID` or `agenthub up` with the same data folder goes on with it.

Exit codes: 0 the result meets its constraints; 3 there is a result that does not; 1 there is none; 130 left before the end.";

impl Run {
    /// The flags as a layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        Layer {
            hub: self.at.hub.hub.clone(),
            model: self.model.layer(),
            ..self.folder.layer()
        }
    }
}
