//! `agenthub sop`

mod ask;
mod check;
mod compliance;
mod found;
mod inputs;
mod leaving;
mod names;
mod new;
mod news;
mod place;
mod progress;
mod report;
mod up;
mod workshop;

use std::process::ExitCode;

use crate::{
    cli::Sop,
    logging::{self, Target},
    settings::Settings,
};

use super::CLIENT_LEVEL;

/// Runs, asks, checks or begins a team that is written in Markdown, or reports on a run of one.
pub(super) async fn run(args: Sop, settings: &Settings) -> anyhow::Result<ExitCode> {
    let log = || logging::start(settings.log.as_deref(), CLIENT_LEVEL, &Target::Stderr);
    match args {
        Sop::Up(args) => up::run(*args, settings).await,
        Sop::Ask(args) => ask::run(*args, settings).await,
        Sop::Check(args) => {
            log()?;
            check::run(&args, settings).await
        }
        Sop::New(args) => {
            log()?;
            new::run(&args)
        }
        Sop::Report(args) => {
            log()?;
            report::run(args, settings).await
        }
    }
}
