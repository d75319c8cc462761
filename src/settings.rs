//! The settings: defaults, then `agenthub.toml`, then the environment, then flags.

mod a2a;
mod access;
mod audit;
mod bridge;
mod connect;
mod database;
mod ended_tasks;
mod environment;
mod fault;
mod file;
mod hub;
mod kafka;
mod keep_runs;
mod layers;
mod model;
mod namespaces;
mod outbound;
mod prices;
mod tls;
mod tools;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use agenthub_mcp::toolshed::{Names, Servers};
use agenthub_sdk::model::LanguageModel;
use agenthub_terminal::Listen;
use anyhow::{Context as _, bail};
use serde::Deserialize;
use toml::Table;

pub(crate) use self::a2a::A2a;
use self::access::Access;
use self::audit::Audit;
use self::bridge::Bridge;
use self::connect::Connect;
pub(crate) use self::database::Database;
pub(crate) use self::ended_tasks::EndedTasks;
use self::file::File;
pub(crate) use self::kafka::Kafka;
pub(crate) use self::keep_runs::KeepRuns;
pub(crate) use self::layers::Layer;
#[cfg(test)]
pub(crate) use self::model::ApiKey;
pub(crate) use self::model::{Model, ModelLayer, OFFLINE};
pub(crate) use self::outbound::Outbound;
use self::prices::Prices;
pub(crate) use self::tls::{ClientFiles, Tls};
pub(crate) use self::tools::Sop;
use crate::{
    cassette::Cassette,
    cli::{Executors, MaxExecutors},
    contexts::{Contexts, Named, Rank},
};

/// The settings file that is read if there is one.
const FILE: &str = "agenthub.toml";

/// Folders that this process works with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Of teams in Markdown.
    pub(crate) teams: Vec<PathBuf>,
    /// Of workflows.
    pub(crate) workflows: Vec<PathBuf>,
}

/// Settings of everything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The hub's address.
    pub(crate) hub: String,
    /// Address of gRPC.
    pub(crate) grpc: Listen,
    /// Address of HTTP.
    pub(crate) http: Listen,
    /// Folder of files; see [`data`](Self::data).
    data: PathBuf,
    /// These are those of one of the namespaces beside `default`.
    #[serde(skip)]
    pub(crate) is_of_namespace: bool,
    ephemeral: bool,
    /// Other machines may reach the hub.
    pub(crate) insecure: bool,
    /// Address of the metrics of a process without a hub.
    #[serde(default)]
    pub(crate) metrics: Option<Listen>,
    /// TLS of these addresses.
    #[serde(default)]
    pub(crate) tls: Tls,
    /// TLS of connections to the hub.
    #[serde(default)]
    pub(crate) client: ClientFiles,
    /// Log filter, if one was set.
    #[serde(default)]
    pub(crate) log: Option<String>,
    /// Ended tasks that the hub keeps.
    #[serde(default)]
    pub(crate) ended_tasks: EndedTasks,
    /// MiB of waiting mail that the hub has in memory, if that was said.
    #[serde(default)]
    pub(crate) bodies_mib: Option<u32>,
    /// Days after which an absent agent leaves the directory, if that was said; 0 is never.
    #[serde(default)]
    pub(crate) away_agents_days: Option<u32>,
    /// Seconds that an agent may be away before its work is called back, if that was said.
    #[serde(default)]
    pub(crate) away_grace_seconds: Option<u32>,
    /// Seconds of an instance's presence lease, if that was said.
    #[serde(default)]
    pub(crate) presence_lease_seconds: Option<NonZeroU32>,
    /// Retention of the runs of agents once they are over.
    #[serde(default)]
    pub(crate) keep_runs: KeepRuns,
    /// The database that has the runs of workflows; a file of the data folder if none is named.
    #[serde(default)]
    pub(crate) journal: Option<Database>,
    /// The Kafka over which steps of workflows go to their agents, if one is named.
    #[serde(default)]
    pub(crate) kafka: Kafka,
    /// URL of the store of claim checks; a folder in the data folder if none is named.
    #[serde(default)]
    pub(crate) claims: Option<String>,
    /// Days for which claim checks are kept, if that was said; 0 is for ever.
    #[serde(default)]
    pub(crate) claims_days: Option<u32>,
    /// Settings of the audit.
    #[serde(default)]
    audit: Audit,
    /// Settings of the bridge to agents over HTTP.
    #[serde(default)]
    pub(crate) bridge: Bridge,
    /// Settings of connectors to other systems.
    #[serde(default)]
    pub(crate) connect: Connect,
    /// Form of the executors of workflows in `up`.
    #[serde(default)]
    pub(crate) executors: Executors,
    /// Bound on the runs that executors carry out at once.
    #[serde(default)]
    pub(crate) max_executors: MaxExecutors,
    /// Folders of people's files that pages show.
    #[serde(skip)]
    pub(crate) folders: Folders,
    /// The settings file that was named by a flag.
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    /// The file of the token with which this process calls its hub, if there is one.
    #[serde(skip)]
    pub(crate) token_file: Option<PathBuf>,
    /// The model that decides.
    pub(crate) model: Model,
    /// Prices of models.
    #[serde(default)]
    pub(crate) prices: Prices,
    /// The MCP servers, by their names.
    #[serde(default, rename = "mcp")]
    pub(crate) servers: Servers,
    /// Further names for tools and agents.
    #[serde(default, rename = "tools")]
    pub(crate) names: Names,
    /// Settings of folders of SOPs.
    #[serde(default)]
    pub(crate) sop: Sop,
    /// Settings of A2A.
    #[serde(default)]
    pub(crate) a2a: A2a,
    /// Settings of calls to addresses that others name.
    #[serde(default)]
    pub(crate) outbound: Outbound,
    /// Settings of identities and rights; without them, and without tokens, nobody needs an identity.
    #[serde(default)]
    access: Option<Access>,
}

impl Settings {
    /// The folder for files; `None` if none are to be written.
    pub(crate) fn data(&self) -> Option<&Path> {
        (!self.ephemeral).then_some(self.data.as_path())
    }

    /// The same, but for files: none are written.
    pub(crate) fn without_files(self) -> Self {
        Self {
            ephemeral: true,
            ..self
        }
    }

    /// The same, with the file of the token with which this process calls its hub.
    pub(crate) fn with_token_file(self, token_file: Option<PathBuf>) -> Self {
        Self { token_file, ..self }
    }

    /// The settings of this process. `config` is the file that must be there, if one was named.
    /// `context` is the one that a flag names.
    pub(crate) fn load(
        flags: &Layer,
        config: Option<&Path>,
        context: Option<&str>,
    ) -> anyhow::Result<Self> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = config
            .map(Path::to_path_buf)
            .or_else(|| env("AGENTHUB_CONFIG").map(PathBuf::from));
        let (file, must_be) = match named {
            Some(file) => (file, true),
            None => (PathBuf::from(FILE), false),
        };
        let file = match file.is_file() {
            true => File::read(&file)?,
            false if must_be => bail!("there is no settings file {}", file.display()),
            false => File::default(),
        };
        let contexts = match Contexts::file() {
            Some(file) => Contexts::read(&file)?,
            None => Contexts::default(),
        };
        Ok(Self {
            config: config.map(Path::to_path_buf),
            ..Self::of(flags, &env, &file, (&contexts, context))?
        })
    }

    /// Settings of a file, without flags and environment.
    #[cfg(test)]
    pub(crate) fn of_text(file: &str) -> anyhow::Result<Self> {
        let contexts = (&Contexts::default(), None);
        Self::of(&Layer::default(), &|_| None, &File::of_text(file), contexts)
    }

    fn of(
        flags: &Layer,
        env: &dyn Fn(&str) -> Option<String>,
        file: &File,
        (contexts, context): (&Contexts, Option<&str>),
    ) -> anyhow::Result<Self> {
        let said = file.table().context("in the settings")?;
        let environment = environment::layer(env)?;
        let named = env("AGENTHUB_CONTEXT");
        let chosen = contexts.chosen(Named {
            flag: context,
            environment: named.as_deref(),
            hub_by_flag: flags.hub.is_some(),
            hub_by_environment: environment.hub.is_some(),
            hub_by_file: said.contains_key("hub"),
        })?;
        let of_context = |rank| match chosen {
            Some((context, at)) if at == rank => layers::table(&Layer::of_context(context)),
            _ => Ok(Table::new()),
        };
        let merged = [
            of_context(Rank::Lowest)?,
            said,
            of_context(Rank::Middle)?,
            layers::table(&environment)?,
            of_context(Rank::Highest)?,
            layers::table(flags)?,
        ]
        .into_iter()
        .fold(layers::table(&Layer::defaults())?, layers::merged);
        let mut settings: Self = match serde_path_to_error::deserialize(merged) {
            Ok(settings) => settings,
            Err(error) => bail!("in the settings: {}", fault::told(&error, file)),
        };
        settings.token_file = chosen.and_then(|(context, _)| context.token_file.clone());
        settings.model.cassette = Cassette::open(flags.model.cassette.as_ref())?;
        if let Some(replayer) = settings.model.cassette.replayer() {
            replayer.name().clone_into(&mut settings.model.name);
        }
        environment::place(env, &mut settings.model);
        if let Err(error) = agenthub_mcp::toolshed::check(&settings.servers, &settings.names) {
            bail!("in the settings: {error}");
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests;
