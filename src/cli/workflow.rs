//! Workflows, on the command line.

use std::path::PathBuf;

use agenthub_workflow::cli::{Serve, WorkflowCommand};
use clap::{Args, Subcommand};

use super::{
    CortexAt, DisplayFlags, Folder, Hub, IdempotencyKey, Keep, Layer, Layers, Metrics, Model,
};

/// `agenthub workflow`
#[derive(Debug, Subcommand)]
pub(crate) enum Workflow {
    /// Carries out a workflow file; everything else about its run is `agenthub runs`
    #[command(after_long_help = RUN)]
    Run(Box<WorkflowRun>),
    /// Has the workflows of a folder as agents of the hub, while their files change
    #[command(after_long_help = SERVE)]
    Serve(WorkflowServe),
    #[command(flatten)]
    Files(WorkflowCommand),
}

/// `agenthub workflow run`
#[derive(Debug, Args)]
pub(crate) struct WorkflowRun {
    /// The file, in YAML or JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The input: a file of YAML or JSON, JSON itself, or - for standard input
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) input: Option<String>,
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

/// `agenthub workflow serve`
#[derive(Debug, Args)]
pub(crate) struct WorkflowServe {
    #[command(flatten)]
    pub(crate) serve: Serve,
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    metrics: Metrics,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

const SERVE: &str = "\
Each file becomes an agent with the workflow's name and input, which Cortex, other agents, and clients of A2A and MCP call like any other. Each call is a run, \
kept in the data folder, that goes on after a crash when the folder is served again. An agent changes with its file, is kept while the file has faults, and goes with it.";

const RUN: &str = "\
The file and the input are checked before anything starts, against the agents that the hub knows. The run goes on when nobody watches, and after a crash; \
`agenthub runs watch ID` comes back to it. Where no hub listens at the default address, the hub and the agents run in this process for the time of \
the run, on the data folder of `agenthub up`.

Exit codes: 0 the workflow has completed; 1 it has failed; 2 the file or the input is wrong, and nothing was started; 3 it has completed, in part; 130 left before the end.";

impl Layers for Workflow {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        match self {
            Self::Run(run) => Layer {
                hub: run.at.hub.hub.clone(),
                model: run.model.layer(),
                ..run.folder.layer()
            },
            Self::Serve(serve) => Layer {
                hub: serve.hub.hub.clone(),
                keep_runs: serve.keep.layer(),
                metrics: serve.metrics.metrics,
                ..serve.folder.layer()
            },
            Self::Files(WorkflowCommand::Validate(validate)) => Layer {
                hub: validate.hub.hub.clone(),
                ..Layer::default()
            },
            Self::Files(WorkflowCommand::Schema | WorkflowCommand::Graph(_)) => Layer::default(),
        }
    }
}
