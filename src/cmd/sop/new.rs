//! `agenthub sop new`

use std::process::ExitCode;

use crate::cli::sop::New;

pub(super) fn run(args: &New) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{args:?}")
}
