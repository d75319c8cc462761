//! `agenthub sop ask`

use std::process::ExitCode;

use crate::{cli::sop::Ask, settings::Settings};

pub(super) async fn run(args: Ask, settings: &Settings) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{args:?} {}", settings.hub)
}
