//! Arguments of the commands that ask a hub.

mod mailboxes;

use agenthub_proto::{a2a::TaskState, agenthub::AgentState};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use serde_json::Value;

use crate::{
    complete,
    flags::{Hub, Json},
};

pub use mailboxes::{LetterAction, Mailboxes, SeekTo};

/// The hub that a command asks, and the form of the answer.
#[derive(Debug, Args)]
pub struct Query {
    /// The hub's address.
    #[command(flatten)]
    pub hub: Hub,
    /// JSON or a table.
    #[command(flatten)]
    pub json: Json,
}

/// `agenthub agents`
#[derive(Debug, Subcommand)]
pub enum Agents {
    /// Lists the agents that all filters match
    List(AgentFilter),
    /// Shows one agent
    Show {
        /// Its id, or id@version
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        id: String,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Removes an agent that is gone for good, with its mailboxes: its open tasks fail, and what waits for it is dropped
    Unregister {
        /// Its id
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        id: String,
        /// Why, for those who wait for its tasks
        #[arg(long, default_value = "")]
        reason: String,
        /// Also if it is connected: it is told so, and ends
        #[arg(long)]
        force: bool,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Shows the agents there are, and every change, until it is interrupted
    Watch {
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
}

/// `agenthub agents list`
#[derive(Debug, Args)]
pub struct AgentFilter {
    /// Words to be found in name, description, skills, tags or examples
    #[arg(long)]
    pub text: Option<String>,
    /// A skill's id or name
    #[arg(long)]
    pub skill: Option<String>,
    /// A skill's tag
    #[arg(long)]
    pub tag: Option<String>,
    /// An input or output mode, such as text/plain
    #[arg(long)]
    pub mode: Option<String>,
    /// streaming, push_notifications, or the URI of an extension
    #[arg(long)]
    pub capability: Option<String>,
    /// online or offline
    #[arg(long, value_parser = agent_state)]
    pub state: Option<AgentState>,
    /// The hub, and the form of the answer.
    #[command(flatten)]
    pub query: Query,
}

/// `agenthub publish`
#[derive(Debug, Args)]
pub struct Publish {
    /// The text; - reads it from standard input
    #[arg(
        default_value = "",
        hide_default_value = true,
        required_unless_present = "data"
    )]
    pub text: String,
    /// Data of the message, in JSON
    #[arg(long, value_name = "JSON", value_parser = data)]
    pub data: Option<Value>,
    /// The agent to say it to; without it, who takes tasks of the type has it, or who subscribes to all messages
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
    pub to: Option<String>,
    /// The kind of task
    #[arg(long, value_name = "TYPE")]
    pub task_type: Option<String>,
    /// Makes it an event of this type, for the workflows that wait for it, and for nobody to work on
    #[arg(long, value_name = "TYPE", conflicts_with_all = ["to", "task_type", "task", "wait"])]
    pub event: Option<String>,
    /// The conversation it belongs to
    #[arg(long, value_name = "ID")]
    pub context: Option<String>,
    /// The task that it makes or goes on with
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// The id to publish under
    #[arg(long, value_name = "ID")]
    pub from: Option<String>,
    /// Makes it a task for --to or --task-type, waits for its end, and prints the answer
    #[arg(long)]
    pub wait: bool,
    /// The hub, and the form of the answer.
    #[command(flatten)]
    pub query: Query,
}

/// `agenthub tasks`
#[derive(Debug, Subcommand)]
pub enum Tasks {
    /// Lists the tasks that all filters match, latest change first
    List {
        /// The agent that asked for it or works on it
        #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
        agent: Option<String>,
        /// The conversation
        #[arg(long, value_name = "ID")]
        context: Option<String>,
        /// submitted, working, completed, failed, cancelled, input-required, rejected or auth-required; may be repeated
        #[arg(long, value_parser = task_state)]
        state: Vec<TaskState>,
        /// At most this many [default: 50, and all with --json]
        #[arg(long, value_name = "N")]
        first: Option<usize>,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Shows one task with its messages and artifacts
    Show {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::tasks))]
        id: String,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Shows what happens to all tasks, or to one until it ends
    Watch {
        /// The task's id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::tasks))]
        id: Option<String>,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Cancels a task; the agent at work is told
    Cancel {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::tasks))]
        id: String,
        /// Why
        #[arg(long, default_value = "cancelled by the user")]
        reason: String,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
}

impl Agents {
    /// The hub's address.
    pub fn hub(&self) -> &Hub {
        match self {
            Self::List(AgentFilter { query, .. })
            | Self::Show { query, .. }
            | Self::Unregister { query, .. }
            | Self::Watch { query } => &query.hub,
        }
    }
}

impl Tasks {
    /// The hub's address.
    pub fn hub(&self) -> &Hub {
        match self {
            Self::List { query, .. }
            | Self::Show { query, .. }
            | Self::Watch { query, .. }
            | Self::Cancel { query, .. } => &query.hub,
        }
    }
}

fn data(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))
}

fn agent_state(text: &str) -> Result<AgentState, String> {
    match text {
        "online" => Ok(AgentState::Online),
        "offline" => Ok(AgentState::Offline),
        _ => Err("an agent is online or offline".to_owned()),
    }
}

fn task_state(text: &str) -> Result<TaskState, String> {
    TaskState::from_label(text).ok_or_else(|| {
        let labels = (1..=8).filter_map(|n| TaskState::try_from(n).ok());
        let labels: Vec<&str> = labels.map(TaskState::label).collect();
        format!("a task is one of {}", labels.join(", "))
    })
}
