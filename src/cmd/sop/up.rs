//! `agenthub sop up`

use std::process::ExitCode;

use crate::{cli::sop::Up, settings::Settings};

pub(super) async fn run(args: Up, settings: &Settings) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{args:?} {}", settings.hub)
}
