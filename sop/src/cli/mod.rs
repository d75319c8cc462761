//! `agenthub sop`: teams of agents that are written in Markdown, from the command line.
//!
//! [`run`] is all that a program mounts, with [`Sop`] for its arguments. What the commands cannot know, which models, journals and hubs
//! there are, is the [`Program`]'s.

mod args;
mod ask;
mod check;
mod compliance;
mod inputs;
mod leaving;
mod names;
mod new;
mod news;
mod place;
mod program;
mod progress;
mod report;
mod team_folder;
mod up;
mod workshop;

use std::{process::ExitCode, sync::Arc};

pub use args::{Ask, Check, ErrorMode, New, Report, Sop, Up};
pub use program::{HostError, Hosted, Hosting, Program, Settings, Workplace};

/// Runs, asks, checks or begins a team that is written in Markdown, or reports on a run of one.
///
/// # Errors
///
/// The line to print; faults of files were shown, and then there is only the exit code.
pub async fn run(
    args: Sop,
    settings: &Settings,
    program: Arc<dyn Program>,
) -> anyhow::Result<ExitCode> {
    match args {
        Sop::Up(args) => up::run(*args, settings, &program).await,
        Sop::Ask(args) => ask::run(*args, settings, &program).await,
        Sop::Check(args) => check::run(&args, settings, &*program).await,
        Sop::New(args) => new::run(&args),
        Sop::Report(args) => report::run(args, settings, &*program).await,
    }
}
