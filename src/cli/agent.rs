//! The agents that the command line starts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Folder, Hub, Keep, Layer, Layers, Metrics, Model};

/// `agenthub agent`
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Repeats what it is told
    Echo {
        /// The id that the hub knows it by
        #[arg(long, value_name = "ID", default_value = agenthub_agents::echo::NAME)]
        name: String,
        #[command(flatten)]
        hub: Hub,
    },
    /// Plans content: schedule, rationale, and knobs from an analysis of past performance
    Strategy(Specialised),
    /// Writes content from briefs, and revises it
    Writer(Specialised),
    /// Reviews drafts, with a score and evidence
    Qa(Specialised),
    /// Leads the other agents of the hub with a model: each of them is a tool
    Supervisor(Thinking),
    /// Works with a model, and with the tools of a file
    Worker(Thinking),
    /// Runs the agent that a file describes
    Run {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        place: Place,
    },
    /// Says what is wrong with a file that describes an agent, and starts nothing
    Check {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        model: Model,
    },
}

/// An agent that comes with the program.
#[derive(Debug, Args)]
pub(crate) struct Specialised {
    /// The id that the hub knows it by, if another than its own
    #[arg(long, value_name = "ID")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// An agent with a model, in a few words.
#[derive(Debug, Args)]
pub(crate) struct Thinking {
    /// The id that the hub knows it by
    #[arg(long, value_name = "ID")]
    pub(crate) name: String,
    /// Its purpose, as other agents and Cortex see it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Its role and its way of working, as its model sees it; @FILE reads a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) instructions: Option<String>,
    /// A TOML file of tools, which are commands that it can run
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// The tokens that one request may cost, those of the agents that it asks among them
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
    /// Turns of its model for one request [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turns: Option<u32>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Place and means of an agent or of Cortex.
#[derive(Debug, Args)]
pub(crate) struct Place {
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) model: Model,
    /// The folder for what it is doing, so that it goes on with it after a crash [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Writes no files; after a crash it begins its requests again
    #[arg(long)]
    pub(crate) ephemeral: bool,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    metrics: Metrics,
}

impl Agent {
    /// The flags as a layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        match self {
            Self::Echo { hub, .. } => Layer {
                hub: hub.hub.clone(),
                ..Layer::default()
            },
            Self::Strategy(Specialised { place, .. })
            | Self::Writer(Specialised { place, .. })
            | Self::Qa(Specialised { place, .. })
            | Self::Supervisor(Thinking { place, .. })
            | Self::Worker(Thinking { place, .. })
            | Self::Run { place, .. } => place.layer(),
            Self::Check { model, .. } => Layer {
                model: model.layer(),
                ..Layer::default()
            },
        }
    }

    /// The model that the flags name.
    pub(crate) fn model(&self) -> Option<&str> {
        let model = match self {
            Self::Echo { .. } => return None,
            Self::Strategy(Specialised { place, .. })
            | Self::Writer(Specialised { place, .. })
            | Self::Qa(Specialised { place, .. })
            | Self::Supervisor(Thinking { place, .. })
            | Self::Worker(Thinking { place, .. })
            | Self::Run { place, .. } => &place.model,
            Self::Check { model, .. } => model,
        };
        model.model.as_deref()
    }
}

impl Place {
    /// The flags as a layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        let folder = Folder {
            data: self.data.clone(),
            ephemeral: self.ephemeral,
        };
        Layer {
            hub: self.hub.hub.clone(),
            keep_runs: self.keep.layer(),
            model: self.model.layer(),
            metrics: self.metrics.metrics,
            ..folder.layer()
        }
    }
}
