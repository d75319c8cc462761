//! Looking after the runs there are.

use agenthub_terminal::complete;
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

use super::{CortexAt, DisplayFlags, Folder, IdempotencyKey, Json, Layer, Layers, Limits, Model};

/// `agenthub runs`
#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// Lists runs, latest first
    List {
        /// submitted, working, awaiting-approval, cancelling, completed, failed or cancelled
        #[arg(long, value_parser = STATES)]
        state: Option<String>,
        /// The thread
        #[arg(long, value_name = "ID")]
        thread: Option<String>,
        /// app, chat, or the name of a strategy
        #[arg(long, value_name = "MODE")]
        mode: Option<String>,
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 50)]
        first: usize,
        /// Also those that other runs led to, such as the work of the agents of a plan
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Shows one run, with its plan and what came of it
    Show {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Shows a run from its beginning until it ends, as `agenthub run` does
    #[command(after_long_help = WATCH)]
    Watch {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        /// Begins behind this frame
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        after: u64,
        #[command(flatten)]
        shown: DisplayFlags,
        /// Runs the hub, Cortex and the agents in this process, until the run is over
        #[arg(long, conflicts_with_all = ["hub", "cortex"])]
        here: bool,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        model: Model,
        #[command(flatten)]
        folder: Folder,
    },
    /// Shows the plan of a run, with the state of each step
    Plan {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Cancels a run; whoever works for it is told
    Cancel {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        /// Why
        #[arg(long, default_value = "cancelled by the user")]
        reason: String,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Goes on from the plan and the results of a run that is over, as another run; prints its id
    Resume {
        /// The id of the run that is over
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        #[command(flatten)]
        limits: Limits,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Starts a workflow again that has ended, as a run of its own: what stands of it is not done again
    #[command(after_long_help = RETRY)]
    Retry {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        /// The step from which on all is done again [default: the first one that came to nothing]
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
        /// Another input: a file of YAML or JSON, JSON itself, or - for standard input
        #[arg(long, value_name = "FILE|JSON")]
        input: Option<String>,
        #[command(flatten)]
        key: IdempotencyKey,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Starts a run that begins with what another had recorded up to one of its events, and goes on from there
    #[command(after_long_help = FORK)]
    Fork {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        /// Number of the event, as `agenthub runs events` shows it
        #[arg(long, value_name = "EVENT", value_parser = clap::value_parser!(u64).range(1..))]
        at: u64,
        /// Another model for what comes after, as provider/model
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// Other instructions for what comes after
        #[arg(long, value_name = "TEXT")]
        instructions: Option<String>,
        /// Another input: words, or JSON, or a file of YAML or JSON
        #[arg(long, value_name = "TEXT|JSON|FILE")]
        input: Option<String>,
        #[command(flatten)]
        key: IdempotencyKey,
        #[command(flatten)]
        at_cortex: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Lists the events of a run's journal
    Events {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Shows where two runs part: the steps that differ, and in what
    #[command(after_long_help = DIFF)]
    Diff {
        /// The one run
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        first: String,
        /// The other one
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        second: String,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Shows what each step of a run did, attempt by attempt, with its times
    Steps {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Shows who handed what to whom
    Graph {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        /// In which form
        #[arg(long, value_enum, default_value_t = Form::Text)]
        format: Form,
        #[command(flatten)]
        at: CortexAt,
    },
    /// Allows what a run asks a person for; without a run, lists what waits
    Approve {
        /// The run
        #[arg(add = ArgValueCompleter::new(complete::runs_that_ask))]
        run: Option<String>,
        /// The approval; needed where several wait
        approval: Option<String>,
        #[command(flatten)]
        answer: Answer,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Refuses what a run asks a person for
    Refuse {
        /// The run
        #[arg(add = ArgValueCompleter::new(complete::runs_that_ask))]
        run: String,
        /// The approval; needed where several wait
        approval: Option<String>,
        #[command(flatten)]
        answer: Answer,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
    /// Tells what became of a run's result, such as clicks, for later runs of its series to learn from
    Results {
        /// The run
        #[arg(add = ArgValueCompleter::new(complete::runs))]
        id: String,
        /// Numbers by name, such as clicks=120
        #[arg(required = true, value_name = "NAME=NUMBER", value_parser = metric)]
        metrics: Vec<(String, f64)>,
        #[command(flatten)]
        at: CortexAt,
        #[command(flatten)]
        json: Json,
    },
}

const WATCH: &str = "\
Where no hub was named and none listens at the default address, the hub, Cortex and the agents run in this process until the run is over: \
so a run whose process was killed is finished. Ctrl-C leaves; the run goes on where Cortex is. Exit codes as of `agenthub run`.";

const RETRY: &str = "\
A step that asks for the same as in the earlier run, and came to something there, is not done again; neither is an approval of the same. With --from, all \
steps before STEP stand, and STEP and those that depend on it are done again. Prints the id of the new run; `agenthub runs watch ID` shows it.";

const FORK: &str = "\
What was recorded up to EVENT is reused, and nothing of it is done twice. Steps that were in flight then are asked for anew, and so is a person's yes to what had \
not been sent. Prints the id of the new run; `agenthub runs diff` compares it with the other one. With --input, EVENT lies before the first step that got what \
the input changes.";

const DIFF: &str = "\
Exit codes: 0 the runs are the same, in what was asked, in their steps and in what came of them; 3 they differ.";

/// The states of runs.
const STATES: [&str; 7] = [
    "submitted",
    "working",
    "awaiting-approval",
    "cancelling",
    "completed",
    "failed",
    "cancelled",
];

/// The form of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Lines for people
    Text,
    /// For Markdown
    Mermaid,
    /// For Graphviz
    Dot,
    /// Nodes and edges
    Json,
}

/// Details of an answer.
#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// Name of the person who answers, for the record [default: the user of this terminal]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) comment: String,
    /// The agent that asks: it is sent the answer by the hub, wherever it keeps its runs
    #[arg(
        long,
        value_name = "AGENT",
        requires = "approval",
        conflicts_with = "cortex"
    )]
    pub(crate) agent: Option<String>,
}

impl Runs {
    /// The flags as a layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        match self {
            Self::Watch {
                at, model, folder, ..
            } => Layer {
                hub: at.hub.hub.clone(),
                model: model.layer(),
                ..folder.layer()
            },
            other => Layer {
                hub: other.at().hub.hub.clone(),
                ..Layer::default()
            },
        }
    }

    /// Address of Cortex.
    pub(crate) fn at(&self) -> &CortexAt {
        match self {
            Self::List { at, .. }
            | Self::Show { at, .. }
            | Self::Watch { at, .. }
            | Self::Plan { at, .. }
            | Self::Cancel { at, .. }
            | Self::Resume { at, .. }
            | Self::Graph { at, .. }
            | Self::Retry { at, .. }
            | Self::Fork { at_cortex: at, .. }
            | Self::Events { at, .. }
            | Self::Diff { at, .. }
            | Self::Steps { at, .. }
            | Self::Approve { at, .. }
            | Self::Refuse { at, .. }
            | Self::Results { at, .. } => at,
        }
    }
}

fn metric(text: &str) -> Result<(String, f64), String> {
    let (name, number) = text.split_once('=').ok_or("it has the form NAME=NUMBER")?;
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| format!("`{number}` is no number"))?;
    match (name.trim(), number.is_finite()) {
        ("", _) => Err("the name is empty".to_owned()),
        (_, false) => Err(format!("`{number}` is no number that can be counted with")),
        (name, true) => Ok((name.to_owned(), number)),
    }
}
