//! What is no load on a system, but something that happens to the hub: each scene gives the ratios of one row or several.

mod arrivals;
mod crowd;
mod link;
mod older;
mod people;
mod scale;
mod start;
mod stuck;
mod synced;

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

/// What a ratio is held against.
const MIB: f64 = (1 << 20) as f64;

/// Something that happens to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    /// Publishes of a Go client by the older unary call.
    OlderPublishes,
    /// Server streams of a Go client.
    OlderStreams,
    /// One subscriber among many takes nothing.
    OneStuck,
    /// None of many takes anything.
    AllStuck,
    /// Many agents connect at once: how many, how quickly, in how much memory.
    Arrivals,
    /// A fan-out over many topics, and over few.
    Topics,
    /// A fan-out beside many registered agents, and beside few.
    Agents,
    /// `agenthub up`: until it is ready, and then its memory.
    Up,
    /// The size of the program that is shipped.
    Binary,
    /// A steady load on the synced hub, and what the disk takes for a sync.
    Synced,
    /// Tasks that end, many times over: whether they make the hub slower, and what each leaves behind.
    EndedTasks,
}

impl Scene {
    /// In how many rounds it is played: long ones in few.
    pub(super) fn rounds(self) -> u32 {
        match self {
            Self::Binary | Self::EndedTasks => 1,
            Self::AllStuck | Self::Arrivals | Self::Agents => 3,
            _ => u32::MAX,
        }
    }

    /// Its ratios; `None` where something is missing that it needs, which is said.
    ///
    /// # Errors
    ///
    /// The hub does not start, or not what the scene needs comes of it.
    pub(super) async fn play(self, stage: &Stage) -> anyhow::Result<Option<Vec<Ratio>>> {
        match self {
            Self::OlderPublishes => older::publishes(stage).await,
            Self::OlderStreams => older::streams(stage).await,
            Self::OneStuck => stuck::one(stage).await.map(Some),
            Self::AllStuck => stuck::all(stage).await.map(Some),
            Self::Arrivals => arrivals::play(stage).await,
            Self::Topics => scale::topics(stage).await.map(Some),
            Self::Agents => scale::agents(stage).await.map(Some),
            Self::Up => start::up(stage).await.map(Some),
            Self::Binary => start::binary(stage),
            Self::Synced => synced::play(stage).await.map(Some),
            Self::EndedTasks => tasks::ended(stage).await.map(Some),
        }
    }
}

/// What scenes have.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) programs: Programs,
    /// How long a figure is measured.
    pub(super) length: Duration,
    /// Goes with this.
    folder: TempDir,
    /// The Go client, once it was built.
    go_client: OnceCell<Option<PathBuf>>,
    /// Restate, once it was installed.
    restate: OnceCell<Option<RestateProgram>>,
}

impl Stage {
    /// # Errors
    ///
    /// There is no folder for what scenes leave.
    pub(super) fn new(programs: Programs, length: Duration) -> anyhow::Result<Self> {
        Ok(Self {
            programs,
            length,
            folder: tempfile::Builder::new()
                .prefix("agenthub-compare-")
                .tempdir_in(env::temp_dir())
                .context("a folder for scenes")?,
            go_client: OnceCell::new(),
            restate: OnceCell::new(),
        })
    }

    /// Whether it has to be quick.
    pub(super) fn is_quick(&self) -> bool {
        self.length <= QUICK
    }

    /// A folder for a server, which goes when this is dropped.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub(super) fn folder(&self) -> anyhow::Result<TempDir> {
        Ok(tempfile::tempdir_in(self.folder.path())?)
    }

    /// Restate, which is installed the first time; `None` where it is not to be had.
    pub(super) async fn restate(&self) -> Option<&RestateProgram> {
        let install = || RestateProgram::install(&self.programs);
        self.restate.get_or_init(install).await.as_ref()
    }

    /// A hub, with a folder of its own, which goes when this is dropped.
    async fn hub(&self, system: System) -> anyhow::Result<(Server, TempDir)> {
        let folder = self.folder()?;
        let server = system.start(&self.programs, folder.path()).await?;
        Ok((server, folder))
    }
}

/// A figure of the hub against another, or against a number.
pub(super) fn ratio(hub: f64, other: f64) -> Ratio {
    Ratio {
        hub: hub.into(),
        other: other.into(),
    }
}
