//! Tests and benchmarks of the hub: crash tests, and comparisons with other brokers. A separate program, so that it
//! outlives the hubs that it kills.

mod compare;
mod crash;
mod kills;
mod pages;
mod program;
mod rights;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The allocator of the program `agenthub`, so that its clients are measured like its agents.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Debug, Parser)]
#[command(name = "agenthub-bench", version, about = "Puts a hub to the test")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Kills a hub at random moments while it is at work, and counts what is lost, doubled or out of order.
    ///
    /// Exits with 1 if anything is.
    Crash(crash::Settings),
    /// Kills a hub, Cortex and agents at random moments while runs are at work, and looks whether each ends, once.
    ///
    /// Exits with 1 if a run or task stays open, if anything is done or answered twice, or if a program is left behind.
    Kills(kills::Settings),
    /// Measures the hub beside other brokers.
    ///
    /// Exits with 1 if a goal is not reached.
    Compare(compare::Settings),
    /// Measures tasks that one agent does for another, both with the SDK, on a hub of their own.
    Tasks(compare::tasks::Settings),
    /// Measures what pages that are open cost a hub of their own, and how soon they are there.
    ///
    /// Exits with 1 if a goal is missed. Nothing else should run on the machine meanwhile.
    Pages(pages::Settings),
    /// Measures what rights cost each message and each call.
    ///
    /// Exits with 1 if a decision takes a microsecond or longer.
    Rights(rights::Settings),
    /// Writes what one connection sends to all others: the floor of a comparison.
    #[command(hide = true)]
    Floor(compare::floor::Floor),
}

#[tokio::main]
async fn main() -> ExitCode {
    // The crate features of the hub make HTTP clients need a TLS provider even without TLS. An error means that there
    // is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let result = match Cli::parse().command {
        Command::Crash(settings) => crash::run(settings).await,
        Command::Kills(settings) => kills::run(settings).await,
        Command::Compare(settings) => compare::run(settings).await,
        Command::Tasks(settings) => compare::tasks::run(settings).await,
        Command::Pages(settings) => pages::run(settings).await,
        Command::Rights(settings) => rights::run(&settings),
        Command::Floor(floor) => compare::floor::run(&floor).await,
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
