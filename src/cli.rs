//! The command line.

mod access;
mod agent;
mod agents;
mod audit;
mod bridge;
mod certs;
mod connect;
mod context;
mod cortex;
mod executor;
mod kafka;
mod layers;
mod log;
mod mcp;
mod metrics;
mod namespaces;
mod run;
mod runs;
mod sop;
mod workflow;

use std::path::PathBuf;

use agenthub_a2a::cli::A2a;
use agenthub_sop::cli::Sop;
use agenthub_terminal::{
    commands::{Mailboxes, Publish, Tasks},
    flags::{ClientTls, Folder, Hub, Json, Keep, Model, Serve},
};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use access::{AccessCommand, Explain, Issue, Tokens};
pub(crate) use agent::{Agent, Place, Specialised, Thinking};
pub(crate) use agents::Agents;
pub(crate) use audit::{Audit, Tail as AuditTail};
pub(crate) use bridge::Bridge;
pub(crate) use certs::{Certs, DevCerts};
pub(crate) use connect::{Connect, ConnectKafka};
pub(crate) use context::{AddContext, ContextCommand};
pub(crate) use cortex::Cortex;
pub(crate) use executor::{Executor, ExecutorCommand, Executors, MaxExecutors, ServeExecutors};
pub(crate) use log::Log;
pub(crate) use mcp::Mcp;
pub(crate) use metrics::Metrics;
pub(crate) use namespaces::{Namespaces, RemoveNamespace};
pub(crate) use run::{CortexAt, DisplayFlags, IdempotencyKey, Limits, Run};
pub(crate) use runs::{Answer, Form, Runs};
pub(crate) use workflow::{Workflow, WorkflowRun, WorkflowServe};

use self::{kafka::Kafka, layers::Layers};
use crate::settings::{ClientFiles, Layer};

/// A hub where AI agents find each other, hand each other work and get answers back.
#[derive(Debug, Parser)]
#[command(name = "agenthub", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Log filter: error, warn, info, debug, trace, or by part, such as info,agenthub_broker=debug
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// The settings file [default: agenthub.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The hub of this name, see `agenthub context`
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) hub_context: Option<String>,
    #[command(flatten)]
    client: ClientTls,
    /// The file that holds the token with which hubs are called [default: the token of AGENTHUB_TOKEN, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

impl Global {
    /// TLS of connections to a hub, as the flags say.
    pub(crate) fn client(&self) -> ClientFiles {
        let ClientTls { ca, cert, key } = &self.client;
        ClientFiles {
            ca: ca.clone(),
            cert: cert.clone(),
            key: key.clone(),
        }
    }
}

/// A command and its arguments.
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
    /// Carries out, checks and draws workflows: plans that people write
    #[command(subcommand)]
    Workflow(Workflow),
    /// Carries out one run of a workflow and ends with it, or has each run carried out so
    Executor(Box<Executor>),
    /// Carries steps of workflows from Kafka to agents over HTTP, and their answers back
    Bridge(Box<Bridge>),
    /// Connects the hub with another system
    #[command(subcommand)]
    Connect(Connect),
    /// Serves the hub's agents as tools to any MCP client, over stdin and stdout or over HTTP
    Mcp(Mcp),
    /// Shows and asks agents elsewhere, over A2A
    #[command(subcommand, name = "a2a")]
    A2a(A2a),
    /// Shows, adds and removes the agents of a hub
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
    /// Issues, shows and revokes the tokens by which a hub knows who calls
    #[command(subcommand)]
    Tokens(Tokens),
    /// Adds, shows and removes namespaces, in which teams share a hub without seeing each other
    #[command(subcommand)]
    Namespaces(Namespaces),
    /// Says who may do what, and by which rule
    #[command(subcommand)]
    Access(AccessCommand),
    /// Shows and verifies the record of who did what, allowed or denied
    #[command(subcommand)]
    Audit(Audit),
    /// Keeps hubs by name, and switches between them
    #[command(subcommand)]
    Context(ContextCommand),
    /// Makes certificates to try TLS with
    #[command(subcommand)]
    Certs(Certs),
    /// Looks after the log of a hub
    #[command(subcommand)]
    Log(Log),
    /// Prints a completion script for a shell
    Completions {
        /// The shell
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
    #[command(flatten)]
    kafka: Kafka,
    /// Form of the executors of workflows: tasks of this process, or a process for each run [default: tasks]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) executors: Option<Executors>,
    /// Runs of workflows that have a process of their own at once; further ones wait [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) max_executors: Option<MaxExecutors>,
    /// Serves without opening a chat
    #[arg(long)]
    pub(crate) no_chat: bool,
    /// Has the workflows of this folder as agents, too, while their files change
    #[arg(long, value_name = "DIR")]
    pub(crate) workflows: Option<PathBuf>,
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
    /// The flags as a layer of the settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = match &self.command {
            Command::Up(up) => up.kafka.over(Layer {
                executors: up.executors,
                max_executors: up.max_executors,
                keep_runs: up.keep.layer(),
                model: up.model.layer(),
                ..up.serve.layer()
            }),
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
            Command::Workflow(workflow) => workflow.layer(),
            Command::Executor(executor) => executor.layer(),
            Command::Bridge(bridge) => bridge.layer(),
            Command::Connect(connect) => connect.layer(),
            Command::Mcp(mcp) => mcp.layer(),
            Command::Tokens(tokens) => tokens.layer(),
            Command::Namespaces(namespaces) => namespaces.layer(),
            Command::Audit(audit) => audit.layer(),
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
        layer.client = self.global.client();
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
            | Self::Workflow(_)
            | Self::Executor(_)
            | Self::Bridge(_)
            | Self::Connect(_)
            | Self::Mcp(_)
            | Self::A2a(_)
            | Self::Tokens(_)
            | Self::Namespaces(_)
            | Self::Audit(_)
            | Self::Log(_)
            | Self::Context(_)
            | Self::Certs(_)
            | Self::Completions { .. }
            | Self::Guard => None,
            Self::Access(access) => Some(access.hub()),
            Self::Agents(agents) => Some(agents.hub()),
            Self::Chat(chat) => Some(&chat.hub),
            Self::Mailboxes(mailboxes) => Some(mailboxes.hub()),
            Self::Publish(publish) => Some(&publish.query.hub),
            Self::Tasks(tasks) => Some(tasks.hub()),
        }
    }
}

#[cfg(test)]
mod tests;
