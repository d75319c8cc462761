//! `agenthub completions`

use std::io::{self, Write};

use agenthub_terminal::complete;
use clap_complete::{Shell, env::Shells};

/// Prints the script by which a shell asks this program for completions.
pub(crate) fn run(shell: Shell) -> io::Result<()> {
    let shells = Shells::builtins();
    let shell = shells
        .completer(&shell.to_string())
        .ok_or(io::ErrorKind::Unsupported)?;
    let mut script = Vec::new();
    let name = "agenthub";
    shell.write_registration(complete::VARIABLE, name, name, name, &mut script)?;
    io::stdout().lock().write_all(&script)
}
