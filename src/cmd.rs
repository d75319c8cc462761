//! The commands, one file each; those that only ask a hub are in the terminal's room.

mod access;
mod agent;
mod asking;
mod audit;
mod bridge;
mod broker;
mod certs;
mod chat;
pub(crate) mod completions;
mod connect;
pub(crate) mod context;
pub(crate) mod cortex;
mod executor;
mod log;
mod mcp;
mod namespaces;
mod place;
mod run;
mod runs;
mod sop;
mod tokens;
mod up;
mod workflow;

use std::process::ExitCode;

use agenthub_terminal::commands::{agents, mailboxes, publish, tasks};

use crate::{
    cli::{self, Command},
    logging::{self, Target},
    settings::Settings,
};

/// Log filter of servers and agents if nothing else was said. What `rdkafka::client` says of a Kafka that is away, twice a second, `librdkafka` says once.
const SERVER_LEVEL: &str = "info,rdkafka::client=off";

/// Log filter of commands that end by themselves.
const CLIENT_LEVEL: &str = "warn";

/// Log filter of a server of MCP. What the library of the protocol says of single requests repeats what is logged of calls.
const MCP_LEVEL: &str = "info,rmcp=warn,rmcp::service=off";

/// Runs a command. The exit code is only told where there is no error to print.
pub(crate) async fn run(command: Command, settings: Settings) -> anyhow::Result<ExitCode> {
    let log = |default| logging::start(settings.log.as_deref(), default, &Target::Stderr);
    settings.prices.set_for_process();
    match command {
        Command::Up(args) => return up::run(&args, &settings).await,
        Command::Chat(args) => return chat::run(args, &settings).await,
        Command::Run(args) => return run::run(*args, &settings).await,
        Command::Runs(args) => return runs::run(args, &settings).await,
        Command::Sop(args) => return sop::run(args, settings).await,
        Command::Workflow(args) => return workflow::run(args, &settings).await,
        Command::Executor(args) => return executor::run(&args, &settings).await,
        Command::Broker(args) => {
            log(SERVER_LEVEL)?;
            broker::run(&args, &settings).await?;
        }
        Command::Bridge(args) => {
            log(SERVER_LEVEL)?;
            bridge::run(&args, &settings).await?;
        }
        Command::Connect(args) => {
            log(SERVER_LEVEL)?;
            connect::run(&args, &settings).await?;
        }
        Command::Cortex(args) => {
            log(SERVER_LEVEL)?;
            cortex::run(&args, &settings).await?;
        }
        Command::Agent(args) => {
            log(match args {
                cli::Agent::Check { .. } => CLIENT_LEVEL,
                _ => SERVER_LEVEL,
            })?;
            agent::run(args, &settings).await?;
        }
        Command::Mcp(args) => {
            log(MCP_LEVEL)?;
            mcp::run(&args, &settings).await?;
        }
        Command::A2a(args) => {
            log(CLIENT_LEVEL)?;
            return agenthub_a2a::cli::run(args).await;
        }
        Command::Agents(args) => {
            log(CLIENT_LEVEL)?;
            match args {
                cli::Agents::Hub(args) => agents::run(args, &settings.hub).await?,
                cli::Agents::Elsewhere(args) => {
                    agenthub_a2a::cli::agents(args, &settings.hub).await?
                }
            }
        }
        Command::Publish(args) => {
            log(CLIENT_LEVEL)?;
            return publish::run(args, &settings.hub).await;
        }
        Command::Mailboxes(args) => {
            log(CLIENT_LEVEL)?;
            mailboxes::run(args, &settings.hub).await?;
        }
        Command::Tasks(args) => {
            log(CLIENT_LEVEL)?;
            tasks::run(args, &settings.hub).await?;
        }
        Command::Tokens(args) => {
            log(CLIENT_LEVEL)?;
            tokio::task::spawn_blocking(move || tokens::run(args, &settings)).await??;
        }
        Command::Namespaces(args) => {
            log(CLIENT_LEVEL)?;
            tokio::task::spawn_blocking(move || namespaces::run(args, &settings)).await??;
        }
        Command::Access(args) => {
            log(CLIENT_LEVEL)?;
            access::run(args, &settings).await?;
        }
        Command::Audit(args) => {
            log(CLIENT_LEVEL)?;
            return tokio::task::spawn_blocking(move || audit::run(&args, &settings)).await?;
        }
        Command::Log(args) => {
            log(CLIENT_LEVEL)?;
            tokio::task::spawn_blocking(move || log::run(&args, &settings)).await??;
        }
        Command::Certs(args) => certs::run(&args)?,
        // It was run before, as it needs no settings.
        Command::Context(_) => {}
        Command::Completions { shell } => completions::run(shell)?,
        Command::Guard => crate::guard::run(),
    }
    Ok(ExitCode::SUCCESS)
}
