//! `agenthub sop`: what its commands have of this program.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use agenthub_broker::{OpenError, StartError};
use agenthub_mcp::toolshed::Toolshed;
use agenthub_sdk::{AgentBuilder, durable::Telemetry, model::LanguageModel, runs::Journal};
use agenthub_sop::cli::{self as sop, HostError, Hosted, Hosting, Program, Sop, Workplace};
use agenthub_terminal::Listen;
use async_trait::async_trait;
use axum::Router;
use tokio::sync::OnceCell;
use tonic::service::Routes;

use super::{CLIENT_LEVEL, up::Everything};
use crate::{
    journal::{self, Kept},
    logging::{self, Target},
    model,
    serve::Serving,
    settings::{KeepRuns, Settings},
    world::Crew,
};

/// Runs a command for a team that is written in Markdown. What happens to teams is told in plain words, and what goes wrong is a warning.
pub(super) async fn run(args: Sop, settings: Settings) -> anyhow::Result<ExitCode> {
    logging::start(settings.log.as_deref(), CLIENT_LEVEL, &Target::Stderr)?;
    let of_team = sop::Settings {
        hub: settings.hub.clone(),
        data: settings.data().map(Into::into),
        default_orchestrator: settings.sop.default_orchestrator,
        tools: Toolshed::new(&settings.servers, &settings.names),
    };
    let flag = args.model().map(str::to_owned);
    sop::run(args, &of_team, Arc::new(Agenthub { settings, flag })).await
}

/// The program that the commands are part of.
struct Agenthub {
    settings: Settings,
    /// The model that the command line names goes before that of a file.
    flag: Option<String>,
}

impl Agenthub {
    fn model_of(&self, own: Option<&str>) -> crate::settings::Model {
        self.settings.model.unless(self.flag.as_deref(), own)
    }
}

#[async_trait]
impl Program for Agenthub {
    async fn model(&self, own: Option<&str>) -> anyhow::Result<Arc<dyn LanguageModel>> {
        model::model(&self.model_of(own)).await
    }

    fn model_name(&self, own: Option<&str>) -> String {
        self.model_of(own).name
    }

    fn model_described(&self) -> Vec<String> {
        let settings = &self.settings.model;
        let advice = model::advice(settings).map(str::to_owned);
        [model::described(settings)]
            .into_iter()
            .chain(advice)
            .collect()
    }

    fn refuse_elsewhere(&self, elsewhere: &str) -> anyhow::Result<()> {
        self.settings.model.cassette.refuse_elsewhere(elsewhere)
    }

    fn workplace(&self, data: Option<&Path>) -> anyhow::Result<Box<dyn Workplace>> {
        Ok(Box::new(Files::new(&self.settings, data)?))
    }

    async fn journals(&self, data: &Path) -> io::Result<BTreeMap<String, Arc<dyn Journal>>> {
        journal::all(data).await
    }

    async fn host(&self, hosting: Hosting) -> Result<Box<dyn Hosted>, HostError> {
        let files = match hosting {
            Hosting::WithCortex => {
                let everything = Everything::start(&self.settings, Crew::Nobody, None).await?;
                return Ok(Box::new(everything));
            }
            Hosting::Alone { files } => files,
        };
        let mut own = self.settings.clone();
        own.grpc = Listen::loopback(0);
        own.http = Listen::loopback(0);
        if !files {
            own = own.without_files();
        }
        match Serving::start(&own, Routes::default(), Router::new(), None).await {
            Ok(serving) => Ok(Box::new(serving)),
            Err(error) if is_in_use(&error) => Err(HostError::InUse(error)),
            Err(error) => Err(error.into()),
        }
    }
}

/// True if another hub has the folder, as that of a second request in the same place.
fn is_in_use(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<StartError>();
    matches!(error, Some(StartError::Log(OpenError::Locked(_))))
}

/// The files of a folder's runs, this process's until the end, and where their spans go.
pub(super) struct Files {
    data: Option<PathBuf>,
    keep_runs: KeepRuns,
    telemetry: Telemetry,
    kept: Mutex<BTreeMap<String, Arc<OnceCell<Kept>>>>,
}

impl Files {
    /// The files of an agent, opened once.
    fn of(&self, name: &str) -> Arc<OnceCell<Kept>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(kept.entry(name.to_owned()).or_default())
    }
}

impl Files {
    pub(super) fn new(settings: &Settings, data: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self {
            data: data.map(Path::to_path_buf),
            keep_runs: settings.keep_runs.clone(),
            telemetry: Telemetry::start()?,
            kept: Mutex::default(),
        })
    }
}

#[async_trait]
impl Workplace for Files {
    async fn lasting(&self, name: &str, agent: AgentBuilder) -> anyhow::Result<AgentBuilder> {
        let cell = self.of(name);
        let open = || Kept::open(self.data.as_deref(), &self.keep_runs, name);
        let kept = cell.get_or_try_init(open).await?;
        Ok(self.telemetry.of(kept.lasting(agent)))
    }

    async fn journal(&self, name: &str) -> anyhow::Result<Option<Arc<dyn Journal>>> {
        let cell = self.of(name);
        let open = || Kept::open(self.data.as_deref(), &self.keep_runs, name);
        Ok(cell.get_or_try_init(open).await?.journal.clone())
    }

    async fn claim(&self, name: &str) -> anyhow::Result<bool> {
        match self.journal(name).await {
            Ok(_) => Ok(true),
            Err(error) if error.is::<journal::InUse>() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn close(&self) {
        self.telemetry.stop().await;
    }
}

#[async_trait]
impl Hosted for Serving {
    fn url(&self) -> String {
        self.url()
    }

    fn addresses(&self) -> [SocketAddr; 2] {
        [self.grpc(), self.http()]
    }

    async fn failed(&mut self) -> anyhow::Error {
        self.failed().await
    }

    async fn stop(self: Box<Self>) {
        self.shutdown().await;
    }
}

#[async_trait]
impl Hosted for Everything {
    fn url(&self) -> String {
        self.url()
    }

    fn addresses(&self) -> [SocketAddr; 2] {
        self.addresses()
    }

    async fn failed(&mut self) -> anyhow::Error {
        self.failed().await
    }

    async fn stop(self: Box<Self>) {
        (*self).stop().await;
    }
}
