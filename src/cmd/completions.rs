//! `agenthub completions`

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::cli::Cli;

/// Prints the completion script.
pub(crate) fn run(shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "agenthub", &mut script);
    io::stdout().lock().write_all(&script)
}
