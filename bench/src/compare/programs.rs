//! Lookup of the compared programs.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Args;

use super::certificates::Certificates;
use crate::program;

/// Explicit paths of programs.
#[derive(Debug, Args)]
pub(crate) struct ProgramPaths {
    /// The hub's program [default: agenthub, beside this one]
    #[arg(long, value_name = "PATH")]
    hub_binary: Option<PathBuf>,
    /// The NATS server's program [default: nats-server, where it is found]
    #[arg(long, value_name = "PATH")]
    nats_binary: Option<PathBuf>,
}

/// The programs found.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) hub: PathBuf,
    pub(super) nats: Option<PathBuf>,
    pub(super) redis: Option<PathBuf>,
    /// Go compiler, for the client of the older calls.
    pub(super) go: Option<PathBuf>,
    /// Path of this program, which contains the floor's server.
    pub(super) own: PathBuf,
    pub(super) certificates: Certificates,
}

impl Programs {
    /// The given programs, and those found for the rest.
    ///
    /// # Errors
    ///
    /// The hub is missing or makes no certificates, or a given NATS server is missing.
    pub(super) fn find(named: &ProgramPaths) -> anyhow::Result<Self> {
        let own = env::current_exe().context("where this program is")?;
        if let Some(nats) = named.nats_binary.as_ref().filter(|p| !p.is_file()) {
            bail!(
                "there is no NATS server at {}: name one with --nats-binary, or none to leave its rows out",
                nats.display()
            );
        }
        let hub = program::find(named.hub_binary.as_deref())?;
        Ok(Self {
            certificates: Certificates::make(&hub)?,
            hub,
            nats: named.nats_binary.clone().or_else(|| found("nats-server")),
            redis: found("redis-server"),
            go: found("go"),
            own,
        })
    }
}

/// The program of this name in the `PATH`.
pub(super) fn found(program: &str) -> Option<PathBuf> {
    let paths = env::var_os("PATH")?;
    let mut paths = env::split_paths(&paths).map(|folder: PathBuf| folder.join(program));
    paths.find(|path: &PathBuf| Path::is_file(path))
}
