//! `agenthub sop check`

use std::process::ExitCode;

use crate::{cli::sop::Check, settings::Settings};

pub(super) async fn run(args: &Check, settings: &Settings) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{args:?} {}", settings.hub)
}
