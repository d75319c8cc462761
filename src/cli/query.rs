//! The commands that ask a hub something and end.

use agenthub_proto::{a2a::TaskState, agenthub::AgentState};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::{Hub, Json};
use crate::complete;

/// `agenthub agents`
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Lists the agents that all filters match
    List(AgentFilter),
    /// Shows one agent
    Show {
        /// Its id, or id@version
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        id: String,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Removes an agent that is gone for good, with its mailboxes: its open tasks fail, and what waits for it is dropped
    Unregister {
        /// Its id
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        id: String,
        /// Why, for those who wait for its tasks
        #[arg(long, default_value = "")]
        reason: String,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Shows the agents there are, and every change, until it is interrupted
    Watch {
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
}

/// `agenthub agents list`
#[derive(Debug, Args)]
pub(crate) struct AgentFilter {
    /// Words to be found in name, description, skills, tags or examples
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// A skill's id or name
    #[arg(long)]
    pub(crate) skill: Option<String>,
    /// A skill's tag
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// An input or output mode, such as text/plain
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// streaming, push_notifications, or the URI of an extension
    #[arg(long)]
    pub(crate) capability: Option<String>,
    /// online or offline
    #[arg(long, value_parser = agent_state)]
    pub(crate) state: Option<AgentState>,
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// `agenthub publish`
#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// What to say; - reads it from standard input
    pub(crate) text: String,
    /// The agent to say it to; without it the hub finds who it is for
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
    pub(crate) to: Option<String>,
    /// The kind of task
    #[arg(long, value_name = "TYPE")]
    pub(crate) task_type: Option<String>,
    /// The conversation it belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) context: Option<String>,
    /// The task that it makes or goes on with
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// The id to publish under
    #[arg(long, value_name = "ID")]
    pub(crate) from: Option<String>,
    /// Makes it a task, waits for its end, and prints the answer
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// `agenthub tasks`
#[derive(Debug, Subcommand)]
pub(crate) enum Tasks {
    /// Lists the tasks that all filters match, latest change first
    List {
        /// Who asked for it or works on it
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
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Shows one task with its messages and artifacts
    Show {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::tasks))]
        id: String,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Shows what happens to all tasks, or to one until it ends
    Watch {
        /// The task's id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::tasks))]
        id: Option<String>,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Cancels a task; the agent at work is told
    Cancel {
        /// Its id, or the beginning of it, or latest
        #[arg(add = ArgValueCompleter::new(complete::tasks))]
        id: String,
        /// Why
        #[arg(long, default_value = "cancelled by the user")]
        reason: String,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
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
