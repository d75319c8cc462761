//! A fresh server with its workers, for measurements of one load.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::bail;
use tempfile::TempDir;
use tokio::process::Command;

use super::{
    closed_loop::ClosedLoop,
    system::{TaskSystem, Workers},
};
use crate::compare::{
    measure::{Measured, watch},
    scene::Stage,
    server::Server,
    tally::Tally,
};
use crate::program::unset;

/// A load: system, length of the chain, and requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compare) struct TaskLoad {
    pub(in crate::compare) system: TaskSystem,
    /// Agents that a task passes through.
    pub(in crate::compare) hops: usize,
    pub(in crate::compare) in_flight: usize,
}

/// A fresh server and its workers. The server is killed on drop.
#[derive(Debug)]
pub(super) struct Rig {
    load: TaskLoad,
    workers: Workers,
    server: Server,
    folder: TempDir,
    hub: PathBuf,
    ended: AtomicU64,
}

impl Rig {
    /// # Errors
    ///
    /// The server does not start, or refuses a worker.
    pub(super) async fn start(load: TaskLoad, stage: &Stage) -> anyhow::Result<Self> {
        let folder = stage.folder()?;
        let (server, workers) = load.system.start(load, stage, folder.path()).await?;
        Ok(Self {
            load,
            workers,
            server,
            folder,
            hub: stage.programs.hub.clone(),
            ended: AtomicU64::new(0),
        })
    }

    /// Performs a number of tasks at full speed.
    ///
    /// # Errors
    ///
    /// One of them failed.
    pub(super) async fn perform(&self, tasks: u64) -> anyhow::Result<()> {
        let tally = Arc::new(Tally::new(false));
        let request = self.workers.request();
        let lanes = ClosedLoop::start(self.load.in_flight, tasks, &tally, &request);
        lanes.all().await?;
        self.ended.fetch_add(tasks, Ordering::Relaxed);
        Ok(())
    }

    /// Measures for a time. Each ended task counts as a delivery; its latency is from the request to the answer.
    ///
    /// # Errors
    ///
    /// A task failed, or none ended.
    pub(super) async fn measure(&self, length: Duration) -> anyhow::Result<Measured> {
        let tally = Arc::new(Tally::new(true));
        let request = self.workers.request();
        let mut lanes = ClosedLoop::start(self.load.in_flight, u64::MAX, &tally, &request);
        let measured = tokio::select! {
            measured = watch(&self.server, &tally, length) => measured?,
            error = lanes.failed() => return Err(error),
        };
        lanes.finish().await?;
        self.ended.fetch_add(tally.deliveries(), Ordering::Relaxed);
        match measured.deliveries_per_s > 0.0 {
            true => Ok(measured),
            false => bail!("no task ended within {length:?}"),
        }
    }

    /// Ended tasks since the server started.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Memory in use by the server, in bytes.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub(super) fn memory(&self) -> anyhow::Result<u64> {
        self.server.memory()
    }

    /// Size of a backup of the hub's log, which has no unused pages, in bytes; 0 for other systems than the synced hub.
    ///
    /// # Errors
    ///
    /// It cannot be copied.
    pub(super) async fn log_bytes(&self) -> anyhow::Result<u64> {
        if self.load.system != TaskSystem::HubSynced {
            return Ok(0);
        }
        let copy = self.folder.path().join("copy.db");
        let mut command = Command::from(unset(&self.hub));
        command.args(["log", "backup"]).arg(&copy).arg("--data");
        command.arg(self.folder.path().join("data"));
        let output = command.output().await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("the hub's log cannot be copied: {}", said.trim());
        }
        let bytes = copy.metadata()?.len();
        fs::remove_file(copy)?;
        Ok(bytes)
    }

    /// Ends the server and its workers.
    pub(super) async fn stop(self) {
        self.workers.leave().await;
    }
}
