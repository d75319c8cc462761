//! `agenthub sop report`

use std::process::ExitCode;

use crate::{cli::sop::Report, settings::Settings};

pub(super) async fn run(args: Report, settings: &Settings) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{args:?} {}", settings.hub)
}
