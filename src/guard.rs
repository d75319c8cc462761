//! The process that ends programs whose agent was killed: this binary once more, under a hidden command.

use std::{
    env, io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

/// Its command.
const COMMAND: &str = "guard";

/// Starts it. It ends when this process does, whatever ends it.
pub(crate) fn start() -> io::Result<Box<dyn io::Write + Send>> {
    let mut guard = Command::new(env::current_exe()?)
        .arg(COMMAND)
        .current_dir(Path::new("/"))
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends the group of this process leaves it alone.
        .process_group(0)
        .spawn()?;
    let stdin = guard.stdin.take();
    let stdin = stdin.ok_or_else(|| io::Error::other("it has no stdin"))?;
    Ok(Box::new(stdin))
}

/// Runs the guard until its standard input ends, and ends then the programs that it was told of.
pub(crate) fn run() {
    agenthub_mcp::guard(io::stdin().lock());
}
