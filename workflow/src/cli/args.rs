//! Arguments of `agenthub workflow`.

use std::path::PathBuf;

use agenthub_terminal::flags::Hub;
use clap::{Args, Subcommand, ValueEnum};

/// `agenthub workflow`
#[derive(Debug, Subcommand)]
pub enum WorkflowCommand {
    /// Says all that is wrong with workflow files, each fault with its line and what to do; starts nothing
    #[command(after_long_help = VALIDATE)]
    Validate(Validate),
    /// Prints the JSON Schema of workflow files, for editors
    Schema,
    /// Draws the steps of a workflow and how they follow one another
    Graph(Graph),
}

/// `agenthub workflow validate`
#[derive(Debug, Args)]
pub struct Validate {
    /// The files, in YAML or JSON
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Asks no hub which agents and skills there are
    #[arg(long, conflicts_with = "hub")]
    pub offline: bool,
    /// Prints one JSON object: ok, workflows and faults
    #[arg(long)]
    pub json: bool,
    /// Address of the hub.
    #[command(flatten)]
    pub hub: Hub,
}

/// `agenthub workflow graph`
#[derive(Debug, Args)]
pub struct Graph {
    /// The file, in YAML or JSON
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// In which language the drawing is
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `agenthub workflow serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The folder with the files, in YAML or JSON
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Prints one JSON object once the agents are there: hub, dir and agents
    #[arg(long)]
    pub json: bool,
}

/// Language of a drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For Mermaid
    #[default]
    Mermaid,
    /// For Graphviz
    Dot,
}

const VALIDATE: &str = "\
Without --hub, the hub at the default address is asked for its agents if one listens there. Without a hub, agents and skills are not checked.

Exit codes: 0 nothing is wrong; 1 something is.";
