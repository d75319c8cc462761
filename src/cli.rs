//! The command line.

use std::path::PathBuf;

use agenthub_proto::{a2a::TaskState, agenthub::AgentState};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::{
    listen::Listen,
    settings::{Layer, ModelLayer},
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
    /// Runs everything in one process: the hub, Cortex, the echo agent, and on a terminal a chat
    Up(Up),
    /// Runs the hub alone
    Broker(Serve),
    /// Runs Cortex alone, on a hub that is elsewhere
    Cortex(Cortex),
    /// Runs an agent that comes with AgentHub
    #[command(subcommand)]
    Agent(Agent),
    /// Talks with Cortex; with lines on stdin, prints an answer for each
    Chat(Chat),
    /// Shows the agents of a hub
    #[command(subcommand)]
    Agents(Agents),
    /// Publishes a message
    Publish(Publish),
    /// Shows and cancels tasks
    #[command(subcommand)]
    Tasks(Tasks),
    /// Prints a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// `agenthub up`
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) serve: Serve,
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
    /// Where health, readiness and metrics listen [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<Listen>,
    #[command(flatten)]
    pub(crate) folder: Folder,
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
    /// The folder for logs and the chat's history [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Writes no files
    #[arg(long)]
    pub(crate) ephemeral: bool,
}

/// Which model decides.
#[derive(Debug, Args)]
pub(crate) struct Model {
    /// The model, such as openai/gpt-5, or offline [default: offline, unless a provider is configured]
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
}

/// Where the hub is.
#[derive(Debug, Args)]
pub(crate) struct Hub {
    /// The hub's address [default: http://127.0.0.1:50051]
    #[arg(long, value_name = "URL")]
    pub(crate) hub: Option<String>,
}

/// `agenthub cortex`
#[derive(Debug, Args)]
pub(crate) struct Cortex {
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) model: Model,
}

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

/// Prints JSON.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Json {
    /// Prints one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `agenthub agents`
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Lists the agents that all filters match
    List(AgentFilter),
    /// Shows one agent
    Show {
        /// Its id, or id@version
        id: String,
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
    /// What to say
    pub(crate) text: String,
    /// The agent to say it to; without it the hub finds who it is for
    #[arg(long, value_name = "ID")]
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
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// The conversation
        #[arg(long, value_name = "ID")]
        context: Option<String>,
        /// submitted, working, completed, failed, cancelled, input-required, rejected or auth-required; may be repeated
        #[arg(long, value_parser = task_state)]
        state: Vec<TaskState>,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Shows one task with its messages and artifacts
    Show {
        /// Its id
        id: String,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Shows what happens to all tasks, or to one until it ends
    Watch {
        /// The task's id
        id: Option<String>,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Cancels a task; the agent at work is told
    Cancel {
        /// Its id
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

impl Cli {
    /// What the flags say of the settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = match &self.command {
            Command::Up(up) => Layer {
                model: ModelLayer {
                    name: up.model.model.clone(),
                    ..ModelLayer::default()
                },
                ..up.serve.layer()
            },
            Command::Broker(serve) => serve.layer(),
            Command::Cortex(cortex) => Layer {
                hub: cortex.hub.hub.clone(),
                model: ModelLayer {
                    name: cortex.model.model.clone(),
                    ..ModelLayer::default()
                },
                ..Layer::default()
            },
            Command::Chat(chat) => Layer {
                hub: chat.hub.hub.clone(),
                ..chat.folder.layer()
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
            Self::Up(_) | Self::Broker(_) | Self::Completions { .. } => None,
            Self::Cortex(Cortex { hub, .. })
            | Self::Agent(Agent::Echo { hub, .. })
            | Self::Chat(Chat { hub, .. })
            | Self::Agents(
                Agents::List(AgentFilter { hub, .. })
                | Agents::Show { hub, .. }
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
            ..self.folder.layer()
        }
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

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, error::ErrorKind};

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_texts() {
        let mut command = Cli::command();
        command.build();
        let mut texts = command.render_long_help().to_string();
        for sub in command.get_subcommands() {
            if sub.get_name() == "help" {
                continue;
            }
            texts.push_str(&format!("\n=== {}\n", sub.get_name()));
            texts.push_str(&sub.clone().render_long_help().to_string());
        }
        let version = env!("CARGO_PKG_VERSION");
        insta::assert_snapshot!(texts.replace(version, "VERSION"));
    }

    #[test]
    fn what_is_wrong_is_wrong_usage() {
        for line in [
            "agenthub up --grpc nowhere",
            "agenthub agents list --state sleepy",
            "agenthub tasks list --state done",
            "agenthub publish",
            "agenthub fly",
        ] {
            let error = Cli::try_parse_from(line.split(' ')).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
        let help = Cli::try_parse_from(["agenthub", "--help"]).expect_err("help is no command");
        assert_eq!(help.kind(), ErrorKind::DisplayHelp);
        assert_eq!(help.exit_code(), 0);
    }

    #[test]
    fn flags_become_settings() {
        let line = "agenthub up --grpc :0 --ephemeral --model ollama/llama3.2 --log debug";
        let layer = Cli::try_parse_from(line.split(' '))
            .expect("it is right")
            .layer();
        assert_eq!(
            layer.grpc.map(|g| g.to_string()),
            Some("127.0.0.1:0".into())
        );
        assert_eq!(layer.ephemeral, Some(true));
        assert_eq!(layer.insecure, None);
        assert_eq!(layer.model.name.as_deref(), Some("ollama/llama3.2"));
        assert_eq!(layer.log.as_deref(), Some("debug"));

        let line = "agenthub tasks show t1 --hub http://h:1";
        let layer = Cli::try_parse_from(line.split(' '))
            .expect("it is right")
            .layer();
        assert_eq!(layer.hub.as_deref(), Some("http://h:1"));
    }
}
