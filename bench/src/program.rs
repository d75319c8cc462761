//! The program under test: its path and environment.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};

/// Ports that no operating system uses for outgoing connections: a client that tries to reach a dead hub could
/// otherwise get the hub's own port as its source, and connect to itself.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The given program, else `agenthub` beside this one.
///
/// # Errors
///
/// There is none.
pub(crate) fn find(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let program = match named {
        Some(named) => named.to_owned(),
        None => std::env::current_exe()
            .context("where this program is")?
            .with_file_name("agenthub"),
    };
    if !program.is_file() {
        bail!(
            "there is no hub at {}: build it with `cargo build`, or name one with --hub-binary",
            program.display()
        );
    }
    std::path::absolute(&program).context("where the hub's program is")
}

/// The program without settings from the environment.
pub(crate) fn unset(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AGENTHUB_") {
            command.env_remove(name);
        }
    }
    command
}

/// A free loopback address.
///
/// # Errors
///
/// No port is free.
pub(crate) fn free_address(rng: &mut fastrand::Rng) -> anyhow::Result<SocketAddr> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, rng.u16(PORTS)));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no free port in {PORTS:?}")
}
