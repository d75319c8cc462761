//! Teams written in Markdown.

use std::path::PathBuf;

use agenthub_terminal::flags::{Folder, Hub, Keep, Model, Serve};
use clap::{Args, Subcommand, ValueEnum};

/// Folder of SOPs if none is named.
pub(crate) const DEFAULT_DIR: &str = "./sops";

/// `agenthub sop`
#[derive(Debug, Subcommand)]
pub enum Sop {
    /// Makes a team out of a folder of Markdown files, and keeps it as the files change
    #[command(after_long_help = UP)]
    Up(Box<Up>),
    /// Asks a team once: prints the answer on stdout, and who is asked on stderr
    #[command(after_long_help = ASK, override_usage = "agenthub sop ask [OPTIONS] [DIR] REQUEST")]
    Ask(Box<Ask>),
    /// Says what is wrong with the files of a folder, or with one file, and starts nothing
    #[command(after_long_help = CHECK)]
    Check(Check),
    /// Writes the beginnings of an agent, for you to go on with
    New(New),
    /// Says for each MUST and SHOULD of a run's SOP whether it was kept, and what shows it
    Report(Report),
}

/// `agenthub sop up`
#[derive(Debug, Args)]
pub struct Up {
    /// The folder with the files
    #[arg(value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
    /// The hub's address.
    #[command(flatten)]
    pub hub: Hub,
    /// Runs a hub in this process, though one may be running
    #[arg(long, conflicts_with = "hub")]
    pub here: bool,
    /// The model that decides.
    #[command(flatten)]
    pub model: Model,
    /// Settings of a hub of this process.
    #[command(flatten)]
    pub serve: Serve,
    /// Retention of runs.
    #[command(flatten)]
    pub keep: Keep,
}

/// `agenthub sop ask`
#[derive(Debug, Args)]
pub struct Ask {
    /// The folder with the files [default: ./sops], and what is wanted; - reads that from standard input
    #[arg(value_names = ["DIR", "REQUEST"], num_args = 1.., required = true)]
    pub words: Vec<String>,
    /// Something that the orchestrator takes besides the request, such as tone=friendly; may be repeated
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = input)]
    pub inputs: Vec<(String, String)>,
    /// Reaction to an agent that fails [default: the one in the orchestrator's file, else fail-fast]
    #[arg(long, value_name = "MODE")]
    pub error_mode: Option<ErrorMode>,
    /// Prints one JSON object with the answer, its data, and how each agent ended
    #[arg(long)]
    pub json: bool,
    /// Time for it, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// The hub's address.
    #[command(flatten)]
    pub hub: Hub,
    /// Runs a hub and the team in this process, though a hub may be running
    #[arg(long, conflicts_with = "hub")]
    pub here: bool,
    /// The model that decides.
    #[command(flatten)]
    pub model: Model,
    /// The folder for files.
    #[command(flatten)]
    pub folder: Folder,
    /// Retention of runs.
    #[command(flatten)]
    pub keep: Keep,
}

/// Reaction to an agent that was asked and fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ErrorMode {
    /// The request fails at once with the error, and the other agents are called back
    FailFast,
    /// The other agents go on; the answer is partial and says who failed, and why
    Continue,
}

/// `agenthub sop check`
#[derive(Debug, Args)]
pub struct Check {
    /// A folder of files, or one file
    #[arg(value_name = "DIR|FILE", default_value = DEFAULT_DIR)]
    pub path: PathBuf,
    /// Prints one JSON object: ok, agents, orchestrator and faults
    #[arg(long)]
    pub json: bool,
    /// Does not start or call the MCP servers whose tools are named
    #[arg(long)]
    pub no_connect: bool,
}

/// `agenthub sop new`
#[derive(Debug, Args)]
pub struct New {
    /// Name of the agent, such as researcher, and of its file
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Begins an orchestrator, which hands the work out to the agents of its folder
    #[arg(long)]
    pub orchestrator: bool,
    /// The folder; it is made if it is not there
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
}

/// `agenthub sop report`
#[derive(Debug, Args)]
#[command(after_long_help = REPORT)]
pub struct Report {
    /// The run, as `agenthub sop ask` prints it, or the beginning of its id, or latest
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The folder where the run is kept [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Reports as well on the runs of the other agents that the run led to
    #[arg(long)]
    pub all: bool,
    /// The model that decides.
    #[command(flatten)]
    pub model: Model,
    /// Prints one JSON object
    #[arg(long)]
    pub json: bool,
}

const REPORT: &str = "\
The rules are those of the SOP as it was when the run began. What can be counted or found, such as lengths, texts, headings, links and who was \
called when, code checks; the rest a model judges, and its verdict counts only with a quotation from what happened. Without --model, that \
rest is not checked.

Exit codes: 0 every MUST and MUST NOT was kept; 3 of one nobody could tell; 1 one is broken, or there is no report.";

const UP: &str = "\
Each file of the folder is an agent of the hub, for anyone to ask. One file has `type: orchestrator`: it leads the others, whoever they are.

Without --hub, the team joins the hub at the default address if one listens there; else this process runs a hub, with Cortex.

A file that changes is read again, and that agent alone is replaced; what it is working on, it finishes as it was. A file with a mistake \
changes nothing until the mistake is mended. Ctrl-C lets the agents finish for a moment, and ends.";

const ASK: &str = "\
Where the orchestrator is on the hub already (`agenthub sop up`), that team is asked. Otherwise the team of the folder is started in this \
process for the request, with a hub of its own where none was named and none listens at the default address.

With --error-mode continue, an answer in spite of failed agents is given, with exit code 3 and a warning on stderr that names them. \
An agent that cannot start has failed too. A file that cannot be used is nobody: the others go on without it.

Ctrl-C cancels the request, and what the agents do for it. Exit codes: 0 there is an answer; 1 there is none; 130 cancelled.";

const CHECK: &str = "\
Errors keep a file from being used, and make the exit code 1; warnings do not. The MCP servers whose tools the files name are asked for \
their tools, unless --no-connect is given.";

impl Sop {
    /// The model that the command line names.
    pub fn model(&self) -> Option<&str> {
        let model = match self {
            Self::Up(up) => &up.model,
            Self::Ask(ask) => &ask.model,
            Self::Report(report) => &report.model,
            Self::Check(_) | Self::New(_) => return None,
        };
        model.model.as_deref()
    }
}

impl Ask {
    /// The folder with the files.
    pub fn dir(&self) -> PathBuf {
        match self.words.as_slice() {
            [dir, _] => PathBuf::from(dir),
            _ => PathBuf::from(DEFAULT_DIR),
        }
    }

    /// The request; `-` reads it from standard input.
    pub fn request(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }
}

fn input(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err("it has the form NAME=VALUE".to_owned()),
    }
}
