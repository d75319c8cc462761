//! The binary: it reads the command line and the settings, chooses the adapters, and runs one command.
//!
//! `cli` says what there is; each command is a file in `cmd`; `chat` talks with people. Everything else is in the crates.

#![forbid(unsafe_code)]

mod banner;
mod brief;
mod cassette;
mod certs;
mod chat;
mod cli;
mod cmd;
mod contexts;
mod executing;
mod guard;
mod http;
mod journal;
mod kafka;
mod logging;
mod metrics;
mod model;
mod open_files;
mod reaching;
mod rpc;
mod serve;
mod settings;
mod sharing;
mod spaces;
mod team;
mod token;
mod world;

use std::{io, process::ExitCode, time::Duration};

use agenthub_proto::bearer::TOKEN_VARIABLE;
use agenthub_terminal::{complete, output};
use anyhow::Context;
use clap::{CommandFactory, Parser};

use crate::{
    cli::{Cli, Command},
    settings::{Layer, Settings},
};

/// Events are many pieces, made on one thread and dropped on another: with the allocator of glibc a publish that is kept costs half as much again.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Time for threads that wait for a terminal to end.
const THREADS: Duration = Duration::from_millis(100);

/// Exit code of a program that SIGPIPE ends, in shells. What was not printed is not said to be done.
const BROKEN_PIPE: u8 = 128 + 13;

fn main() -> ExitCode {
    complete::answer(Cli::command, hub_of);
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::from(BROKEN_PIPE),
        Err(error) => {
            output::aside(format!("error: {}", one_line(&error)));
            ExitCode::from(agenthub_terminal::usage::code_of(&error))
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    if let Command::Completions { shell } = cli.command {
        cmd::completions::run(shell)?;
        return Ok(ExitCode::SUCCESS);
    }
    if matches!(cli.command, Command::Guard) {
        guard::run();
        return Ok(ExitCode::SUCCESS);
    }
    if let Command::Context(command) = &cli.command {
        cmd::context::run(command, &cli.global)?;
        return Ok(ExitCode::SUCCESS);
    }
    agenthub_mcp::guarded_by(guard::start);
    let settings = Settings::load(
        &cli.layer(),
        cli.global.config.as_deref(),
        cli.global.hub_context.as_deref(),
    )?;
    settings.client.tls().set_default();
    // The environment's token comes before that of a context.
    let of_context = settings.token_file.clone();
    let of_context = of_context.filter(|_| std::env::var_os(TOKEN_VARIABLE).is_none());
    let token_file = cli.global.token_file.clone().or(of_context);
    if let Some(file) = &token_file {
        token::of_file(file)?.set_for_process();
    }
    let settings = settings.with_token_file(token_file);
    #[cfg(feature = "models")]
    agenthub_sdk::model::providers::install_tls();
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    let result = runtime.block_on(cmd::run(cli.command, settings));
    // A thread that reads the terminal cannot be ended.
    runtime.shutdown_timeout(THREADS);
    result
}

/// The hub that an unfinished command line means.
fn hub_of(typed: complete::Typed) -> Option<String> {
    let layer = Layer {
        hub: typed.hub,
        ..Layer::default()
    };
    let settings = Settings::load(&layer, typed.config.as_deref(), None).ok()?;
    settings.client.tls().set_default();
    Some(settings.hub)
}

/// True if whoever read what was printed is gone, as in `agenthub … | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|e| e.downcast_ref::<io::Error>());
    causes
        .map(io::Error::kind)
        .any(|k| k == io::ErrorKind::BrokenPipe)
}

/// The error with its causes.
fn one_line(error: &anyhow::Error) -> String {
    output::plain(&format!("{error:#}")).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line() {
        let error = anyhow::anyhow!("why\nso").context("what");
        assert_eq!(one_line(&error), "what: why so");
    }

    #[test]
    fn a_reader_that_is_gone_is_no_error() {
        let gone = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(
            &anyhow::Error::new(gone).context("printing")
        ));
        assert!(!is_broken_pipe(&anyhow::anyhow!("broken pipe")));
    }
}
