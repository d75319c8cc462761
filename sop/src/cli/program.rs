//! The program that the commands are part of, as they need it.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_mcp::toolshed::Toolshed;
use agenthub_sdk::{AgentBuilder, model::LanguageModel, runs::Journal};
use async_trait::async_trait;

/// The settings of a team.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hub's address.
    pub hub: String,
    /// The folder for files; `None` if none are to be written.
    pub data: Option<PathBuf>,
    /// A folder of SOPs without an orchestrator gets the built-in one.
    pub default_orchestrator: bool,
    /// The tools that files may name besides their agents.
    pub tools: Toolshed,
}

/// The program that the commands are part of: it alone chooses models, journals and hubs.
#[async_trait]
pub trait Program: Send + Sync {
    /// The model of an agent whose file names `own`; the one of the settings where it names none, or the command line another.
    ///
    /// # Errors
    ///
    /// It cannot be used, in one line that says what to set.
    async fn model(&self, own: Option<&str>) -> anyhow::Result<Arc<dyn LanguageModel>>;

    /// The name of that model.
    fn model_name(&self, own: Option<&str>) -> String;

    /// The model of the settings for people, and how to have another, one line each.
    fn model_described(&self) -> Vec<String>;

    /// Refuses what only models of this process can do, where a team `elsewhere` is asked.
    ///
    /// # Errors
    ///
    /// Models are to be recorded or replayed.
    fn refuse_elsewhere(&self, elsewhere: &str) -> anyhow::Result<()>;

    /// Workplace of a team's agents, with files in the folder `data`.
    ///
    /// # Errors
    ///
    /// Spans cannot be sent to where the environment says.
    fn workplace(&self, data: Option<&Path>) -> anyhow::Result<Box<dyn Workplace>>;

    /// The journals of a data folder, by the names of their files; none where there is no such folder.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    async fn journals(&self, data: &Path) -> io::Result<BTreeMap<String, Arc<dyn Journal>>>;

    /// Starts a hub in this process.
    ///
    /// # Errors
    ///
    /// An address or the data folder cannot be had.
    async fn host(&self, hosting: Hosting) -> Result<Box<dyn Hosted>, HostError>;
}

/// Keeps the runs of agents and tells of them, for as long as a team is at work. [`close`](Self::close) it.
#[async_trait]
pub trait Workplace: Send + Sync {
    /// The agent called `name`, with its runs kept and told. The same files are used however often it is made.
    ///
    /// # Errors
    ///
    /// Its files cannot be used.
    async fn lasting(&self, name: &str, agent: AgentBuilder) -> anyhow::Result<AgentBuilder>;

    /// The journal of the agent called `name`; `None` if no files are kept.
    ///
    /// # Errors
    ///
    /// Its files cannot be used.
    async fn journal(&self, name: &str) -> anyhow::Result<Option<Arc<dyn Journal>>>;

    /// Takes the files of the agent called `name` for this workplace, as long as it lives. False if another process has them.
    ///
    /// # Errors
    ///
    /// They cannot be used.
    async fn claim(&self, name: &str) -> anyhow::Result<bool>;

    /// Sends the spans that wait.
    async fn close(&self);
}

/// The hub that is to be in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosting {
    /// A hub with Cortex, at the addresses of the settings.
    WithCortex,
    /// A hub alone, on free ports, where nobody else finds it.
    Alone {
        /// True if it keeps files.
        files: bool,
    },
}

/// A hub of this process. [`stop`](Self::stop) it.
#[async_trait]
pub trait Hosted: Send {
    /// Its address for programs on this machine.
    fn url(&self) -> String;

    /// Its addresses for gRPC and HTTP.
    fn addresses(&self) -> [SocketAddr; 2];

    /// Waits until it ends by itself, which it does not unless something is badly wrong. Cancel-safe.
    async fn failed(&mut self) -> anyhow::Error;

    /// Ends it.
    async fn stop(self: Box<Self>);
}

/// The reason why there is no hub in this process.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Another hub uses the data folder.
    #[error(transparent)]
    InUse(anyhow::Error),
    /// Anything else.
    #[error(transparent)]
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for HostError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}
