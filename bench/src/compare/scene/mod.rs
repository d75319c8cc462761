//! Scenes: scenarios of the hub that are no load on a system. Each gives the ratios of one or several rows.

mod a2a;
mod arrivals;
mod crowd;
mod kafka;
mod link;
mod neighbours;
mod older;
mod peers;
mod scale;
mod start;
mod stuck;
mod synced;
mod workflows;

use std::{env, path::PathBuf, time::Duration};

use anyhow::Context as _;
use tempfile::TempDir;
use tokio::sync::OnceCell;

pub(super) use self::synced::disk_sync_ms;
use super::{
    QUICK,
    programs::Programs,
    report::Ratio,
    server::Server,
    system::System,
    tasks::{self, RestateProgram},
};

/// Bytes of a MiB.
const MIB: f64 = (1 << 20) as f64;

/// A scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    /// Publishes of a Go client by the older unary call.
    OlderPublishes,
    /// Server streams of a Go client.
    OlderStreams,
    /// One of many subscribers reads nothing.
    OneStuck,
    /// None of many subscribers reads.
    AllStuck,
    /// A namespace beside another one at its limits.
    Neighbours,
    /// Many agents connect at once: their number, time and memory.
    Arrivals,
    /// Many agents connect at once, each with a certificate: their number and time.
    SecureArrivals,
    /// A fan-out over many topics, and over few.
    Topics,
    /// A fan-out beside many registered agents, and beside few.
    Agents,
    /// `agenthub up`: time until ready, and memory.
    Up,
    /// Size of the shipped program.
    Binary,
    /// A steady load on the synced hub, and the disk's sync time.
    Synced,
    /// Many ended tasks: their effect on the hub's speed, and the memory and disk space of each.
    EndedTasks,
    /// A2A calls through the hub, beside direct calls.
    A2aAdded(System),
    /// A2A calls at full speed.
    A2aCalls(System),
    /// Many A2A streams at once.
    A2aStreams,
    /// Steps of workflows, one at a time and many.
    WorkflowSteps,
    /// Workflows beside the same chain in Restate.
    WorkflowsBesideRestate,
    /// Calls of a bridge: from the agent's answer to the published result, and per second.
    KafkaBridge,
    /// Steps of workflows over Kafka, one at a time.
    KafkaSteps,
}

impl Scene {
    /// Number of rounds: few for long scenes.
    pub(super) fn rounds(self) -> u32 {
        match self {
            Self::Binary | Self::EndedTasks => 1,
            Self::AllStuck
            | Self::Arrivals
            | Self::SecureArrivals
            | Self::Agents
            | Self::A2aStreams
            | Self::WorkflowSteps => 3,
            _ => u32::MAX,
        }
    }

    /// Measures the ratios; `None` if something is missing, which is printed.
    ///
    /// # Errors
    ///
    /// The hub does not start, or the scene fails.
    pub(super) async fn play(self, stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
        match self {
            Self::OlderPublishes => older::publishes(stage).await,
            Self::OlderStreams => older::streams(stage).await,
            Self::OneStuck => stuck::one(stage).await.map(Some),
            Self::AllStuck => stuck::all(stage).await.map(Some),
            Self::Neighbours => neighbours::play(stage).await.map(Some),
            Self::Arrivals => arrivals::play(stage).await,
            Self::SecureArrivals => arrivals::secure(stage).await,
            Self::Topics => scale::topics(stage).await.map(Some),
            Self::Agents => scale::agents(stage).await.map(Some),
            Self::Up => start::up(stage).await.map(Some),
            Self::Binary => start::binary(stage),
            Self::Synced => synced::play(stage).await.map(Some),
            Self::EndedTasks => tasks::ended(stage).await.map(Some),
            Self::A2aAdded(system) => a2a::added(system, stage).await.map(Some),
            Self::A2aCalls(system) => a2a::per_second(system, stage).await.map(Some),
            Self::A2aStreams => a2a::streams(stage).await,
            Self::WorkflowSteps => workflows::steps(stage).await.map(Some),
            Self::WorkflowsBesideRestate => workflows::beside_restate(stage).await,
            Self::KafkaBridge => kafka::bridge(stage).await,
            Self::KafkaSteps => kafka::steps(stage).await,
        }
    }
}

/// Resources of scenes.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) programs: Programs,
    /// Duration of a measurement.
    pub(super) length: Duration,
    /// Servers of a real Kafka.
    kafka: Option<String>,
    /// Deleted on drop.
    folder: TempDir,
    /// The Go client, once built.
    go_client: OnceCell<Option<PathBuf>>,
    /// Restate, once installed.
    restate: OnceCell<Option<RestateProgram>>,
}

impl Stage {
    /// # Errors
    ///
    /// The folder cannot be created.
    pub(super) fn new(programs: Programs, length: Duration) -> anyhow::Result<Self> {
        Ok(Self {
            programs,
            length,
            kafka: None,
            folder: tempfile::Builder::new()
                .prefix("agenthub-compare-")
                .tempdir_in(env::temp_dir())
                .context("a folder for scenes")?,
            go_client: OnceCell::new(),
            restate: OnceCell::new(),
        })
    }

    /// The same with a Kafka, if there is one.
    pub(super) fn with_kafka(self, kafka: Option<String>) -> Self {
        Self { kafka, ..self }
    }

    /// True with `--quick`.
    pub(super) fn is_quick(&self) -> bool {
        self.length <= QUICK
    }

    /// A count of what is measured, a tenth of it with `--quick`.
    pub(super) fn few(&self, count: u64) -> u64 {
        match self.is_quick() {
            true => count.div_ceil(10),
            false => count,
        }
    }

    /// The servers of a real Kafka, if they are named.
    pub(super) fn kafka(&self) -> Option<&str> {
        self.kafka.as_deref()
    }

    /// A folder for a server, deleted on drop.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub(super) fn folder(&self) -> anyhow::Result<TempDir> {
        Ok(tempfile::tempdir_in(self.folder.path())?)
    }

    /// Restate, installed on first use; `None` if unavailable.
    pub(super) async fn restate(&self) -> Option<&RestateProgram> {
        let install = || RestateProgram::install(&self.programs);
        self.restate.get_or_init(install).await.as_ref()
    }

    /// A hub with its own folder, deleted on drop.
    async fn hub(&self, system: System) -> anyhow::Result<(Server, TempDir)> {
        let folder = self.folder()?;
        let server = system.start(&self.programs, folder.path()).await?;
        Ok((server, folder))
    }
}

/// A ratio of the hub to another figure, or to a constant.
pub(super) fn ratio(hub: f64, other: f64) -> Ratio {
    Ratio {
        hub: hub.into(),
        other: other.into(),
    }
}
