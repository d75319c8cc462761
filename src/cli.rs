//! The command line.

mod agent;
mod cortex;
mod log;
mod mailboxes;
mod mcp;
mod query;
mod runs;
pub(crate) mod sop;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use agent::{Agent, Place, Specialised, Thinking};
pub(crate) use cortex::Cortex;
pub(crate) use log::Log;
pub(crate) use mailboxes::{LetterAction, Mailboxes};
pub(crate) use mcp::Mcp;
pub(crate) use query::{AgentFilter, Agents, Json, Publish, Tasks};
pub(crate) use runs::{Answer, CortexAt, Form, Limits, Run, Runs};
pub(crate) use sop::Sop;

use crate::{
    listen::Listen,
    settings::{Days, EndedTasks, KeepRuns, Layer, ModelLayer},
};

/// A hub where AI agents find each other, hand each other work and get answers back.
#[derive(Debug, Parser)]
#[command(name = "agenthub", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// What to log: error, warn, info, debug, trace, or a filter such as info,agenthub_broker=debug
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// The settings file [default: agenthub.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs everything in one process: the hub, Cortex, a few agents, and on a terminal a chat
    Up(Up),
    /// Runs the hub alone
    Broker(Serve),
    /// Runs Cortex alone, on a hub that is elsewhere
    Cortex(Cortex),
    /// Runs an agent: the echo agent, or one with a language model
    #[command(subcommand)]
    Agent(Agent),
    /// Talks with Cortex; with lines on stdin, prints an answer for each
    Chat(Chat),
    /// Has an objective reached: Cortex plans, hands off to agents, has the result reviewed, and gives it with a report
    Run(Box<Run>),
    /// Shows, cancels and resumes runs, and answers what they ask
    #[command(subcommand)]
    Runs(Runs),
    /// Runs, asks and checks teams of agents that are written in Markdown
    #[command(subcommand)]
    Sop(Sop),
    /// Serves the hub's agents as tools to any MCP client, over stdin and stdout or over HTTP
    Mcp(Mcp),
    /// Shows and removes the agents of a hub
    #[command(subcommand)]
    Agents(Agents),
    /// Publishes a message
    Publish(Publish),
    /// Shows and cancels tasks
    #[command(subcommand)]
    Tasks(Tasks),
    /// Shows and moves mailboxes, and mail that was given up
    #[command(subcommand)]
    Mailboxes(Mailboxes),
    /// Looks after the log of a hub
    #[command(subcommand)]
    Log(Log),
    /// Prints a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Ends the programs of an agent that was killed
    #[command(hide = true)]
    Guard,
}

/// `agenthub up`
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) serve: Serve,
    #[command(flatten)]
    keep: Keep,
    #[command(flatten)]
    pub(crate) model: Model,
    /// Serves without opening a chat
    #[arg(long)]
    pub(crate) no_chat: bool,
}

/// What a hub takes.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where gRPC listens; port 0 is any free one [default: 127.0.0.1:50051]
    #[arg(long, value_name = "ADDR")]
    pub(crate) grpc: Option<Listen>,
    /// Where HTTP listens: health, readiness, metrics, and runs where Cortex is [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<Listen>,
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Ended tasks that stay known; the oldest are forgotten [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) ended_tasks: Option<usize>,
    /// Days for which they stay known [default: 30]
    #[arg(long, value_name = "N")]
    pub(crate) ended_tasks_days: Option<u32>,
    /// MiB of their contents that stay, on disk or in memory [default: 1024]
    #[arg(long, value_name = "N")]
    pub(crate) ended_tasks_mib: Option<u32>,
    /// MiB of waiting mail that are in memory; the rest is read from the log when it is delivered [default: 256]
    #[arg(long, value_name = "N")]
    pub(crate) bodies_mib: Option<u32>,
    /// Days of absence after which an agent leaves the directory; 0 is never [default: 30]
    #[arg(long, value_name = "N")]
    pub(crate) away_agents_days: Option<u32>,
    /// Seconds that an agent may be away, to start again, before its work is called back [default: 15]
    #[arg(long, value_name = "N")]
    pub(crate) away_grace_seconds: Option<u32>,
    /// Listens on addresses that other machines reach, though nobody's identity is checked
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Prints one line of JSON when everything is ready, instead of the banner
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where files go.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The folder for what the hub knows, log files and the history of the chat [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Keeps everything in memory, and writes no files
    #[arg(long)]
    pub(crate) ephemeral: bool,
}

/// How long runs are kept.
#[derive(Debug, Args)]
pub(crate) struct Keep {
    /// Days for which runs that are over are kept, of all agents or of one; 0 is for ever; may be repeated [default: 30]
    #[arg(long, value_name = "[AGENT=]N", value_delimiter = ',')]
    keep_runs_days: Vec<Days>,
}

/// Which model decides.
#[derive(Debug, Args)]
pub(crate) struct Model {
    /// The model, such as openai/gpt-5, or offline [default: offline, unless a provider is configured]
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Writes every prompt and answer into a file, for --replay
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Asks no model: what was recorded answers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "record"])]
    replay: Option<PathBuf>,
}

/// Where the hub is.
#[derive(Debug, Args)]
pub(crate) struct Hub {
    /// The hub's address [default: http://127.0.0.1:50051]
    #[arg(long, value_name = "URL")]
    pub(crate) hub: Option<String>,
}

/// `agenthub chat`
#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// The conversation to go on with; without it a new one begins
    #[arg(long, value_name = "ID")]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

impl Cli {
    /// What the flags say of the settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = match &self.command {
            Command::Up(up) => Layer {
                keep_runs: up.keep.layer(),
                model: up.model.layer(),
                ..up.serve.layer()
            },
            Command::Broker(serve) => serve.layer(),
            Command::Agent(agent) => agent.layer(),
            Command::Cortex(cortex) => cortex.layer(),
            Command::Chat(chat) => Layer {
                hub: chat.hub.hub.clone(),
                ..chat.folder.layer()
            },
            Command::Run(run) => run.layer(),
            Command::Runs(runs) => runs.layer(),
            Command::Sop(sop) => sop.layer(),
            Command::Mcp(mcp) => mcp.layer(),
            Command::Log(log) => Layer {
                data: log.data().cloned(),
                ..Layer::default()
            },
            other => Layer {
                hub: other.hub().and_then(|hub| hub.hub.clone()),
                ..Layer::default()
            },
        };
        layer.log.clone_from(&self.global.log);
        layer
    }
}

impl Command {
    fn hub(&self) -> Option<&Hub> {
        match self {
            Self::Up(_)
            | Self::Broker(_)
            | Self::Cortex(_)
            | Self::Agent(_)
            | Self::Run(_)
            | Self::Runs(_)
            | Self::Sop(_)
            | Self::Mcp(_)
            | Self::Log(_)
            | Self::Completions { .. }
            | Self::Guard => None,
            Self::Mailboxes(mailboxes) => Some(mailboxes.hub()),
            Self::Chat(Chat { hub, .. })
            | Self::Agents(
                Agents::List(AgentFilter { hub, .. })
                | Agents::Show { hub, .. }
                | Agents::Unregister { hub, .. }
                | Agents::Watch { hub, .. },
            )
            | Self::Publish(Publish { hub, .. })
            | Self::Tasks(
                Tasks::List { hub, .. }
                | Tasks::Show { hub, .. }
                | Tasks::Watch { hub, .. }
                | Tasks::Cancel { hub, .. },
            ) => Some(hub),
        }
    }
}

impl Serve {
    fn layer(&self) -> Layer {
        Layer {
            grpc: self.grpc,
            http: self.http,
            insecure: self.insecure.then_some(true),
            ended_tasks: EndedTasks {
                most: self.ended_tasks,
                days: self.ended_tasks_days,
                mib: self.ended_tasks_mib,
            },
            bodies_mib: self.bodies_mib,
            away_agents_days: self.away_agents_days,
            away_grace_seconds: self.away_grace_seconds,
            ..self.folder.layer()
        }
    }
}

impl Keep {
    /// What the flag says of the settings.
    fn layer(&self) -> KeepRuns {
        KeepRuns::of(self.keep_runs_days.iter().cloned())
    }
}

impl Folder {
    fn layer(&self) -> Layer {
        Layer {
            data: self.data.clone(),
            ephemeral: self.ephemeral.then_some(true),
            ..Layer::default()
        }
    }
}

#[cfg(test)]
mod tests;
