//! A hub with a chain of agents, and somebody who gives them tasks.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::bail;
use tempfile::TempDir;
use tokio::process::Command;

use super::{agents::Agents, closed_loop::ClosedLoop};
use crate::compare::{
    measure::{Measured, watch},
    programs::Programs,
    server::Server,
    system::{System, unset},
    tally::Tally,
};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskLoad {
    /// The hub in memory, or the one that syncs.
    pub(super) hub: System,
    /// Agents that a task passes through, one after the other.
    pub(super) hops: usize,
    pub(super) in_flight: usize,
}

/// A fresh hub and its agents.
#[derive(Debug)]
pub(super) struct Rig {
    load: TaskLoad,
    agents: Agents,
    server: Server,
    folder: TempDir,
    program: std::path::PathBuf,
}

impl Rig {
    /// # Errors
    ///
    /// The hub does not start, or does not take its agents.
    pub(super) async fn start(load: TaskLoad, programs: &Programs) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("agenthub-tasks-")
            .tempdir()?;
        let server = load.hub.start(programs, folder.path()).await?;
        let agents = Agents::connect(server.address(), load.hops, load.in_flight).await?;
        Ok(Self {
            load,
            agents,
            server,
            folder,
            program: programs.hub.clone(),
        })
    }

    /// Has so many tasks done, as fast as it goes.
    ///
    /// # Errors
    ///
    /// One of them came to nothing.
    pub(super) async fn perform(&self, tasks: u64) -> anyhow::Result<()> {
        let tally = Arc::new(Tally::new(false));
        let lanes = ClosedLoop::start(self.load.in_flight, tasks, &tally, self.agents.task());
        lanes.all().await
    }

    /// Measures for so long, with each task that ended as a delivery.
    ///
    /// # Errors
    ///
    /// A task came to nothing, or none ended.
    pub(super) async fn measure(&self, length: Duration) -> anyhow::Result<Measured> {
        let tally = Arc::new(Tally::new(true));
        let task = self.agents.task();
        let mut lanes = ClosedLoop::start(self.load.in_flight, u64::MAX, &tally, task);
        let measured = tokio::select! {
            measured = watch(&self.server, &tally, length) => measured?,
            error = lanes.failed() => return Err(error),
        };
        lanes.finish().await?;
        match measured.deliveries_per_s > 0.0 {
            true => Ok(measured),
            false => bail!("no task ended within {length:?}"),
        }
    }

    /// The size of the hub's log in bytes, written anew, without pages that nobody uses; nothing where the hub has none.
    ///
    /// # Errors
    ///
    /// It cannot be copied.
    pub(super) async fn log_bytes(&self) -> anyhow::Result<u64> {
        if self.load.hub == System::HubMemory {
            return Ok(0);
        }
        let copy = self.folder.path().join("copy.db");
        let mut command = Command::from(unset(&self.program));
        command.args(["log", "backup"]).arg(&copy).arg("--data");
        command.arg(self.folder.path().join("data"));
        let output = command.output().await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("the hub's log cannot be copied: {}", said.trim());
        }
        size_and_remove(&copy)
    }

    /// Ends the hub and its agents.
    pub(super) async fn stop(self) {
        self.agents.leave().await;
    }
}

fn size_and_remove(file: &Path) -> anyhow::Result<u64> {
    let bytes = file.metadata()?.len();
    std::fs::remove_file(file)?;
    Ok(bytes)
}
