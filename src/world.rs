//! Cortex and the agents of one namespace.

use std::{sync::Arc, time::Duration};

use agenthub_access::{Identities, Namespace};
use agenthub_api::{Hosts, Http, Runs, Service};
use agenthub_broker::ExtraServices;
use agenthub_cortex::{Cortex, Running, Settings as CortexSettings};
use agenthub_proto::{cortex::cortex_server::CortexServer, grpc::InProcess};
use agenthub_sdk::{durable::Telemetry, hub::Directory, model::LanguageModel};
use anyhow::Context;
use axum::Router;
use futures_util::future::join;
use tokio::time::timeout;
use tonic::{codegen::Service as _, service::Routes};

use crate::{cmd::cortex, journal::Kept, settings::Settings, team::Team};

/// Time for Cortex to see the agents of this process: requests right after the start rely on them.
const INTRODUCTION: Duration = Duration::from_secs(30);

/// Time for agents to end, among them served workflows, which have 3 s to go on, and executors that let their runs go; Cortex has its own after that.
const AGENTS: Duration = Duration::from_millis(3_250);

/// Agents beside Cortex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crew {
    /// The agents that come with the program.
    Ours,
    /// No agents but those that come by themselves.
    Nobody,
}

/// The services by which Cortex is asked other than over the hub, from before it is there.
#[derive(Clone, Default)]
pub(crate) struct CortexDoors {
    service: Service,
    http: Http,
}

impl CortexDoors {
    /// The service of gRPC.
    pub(crate) fn services(&self) -> ExtraServices {
        let routes = Routes::new(CortexServer::new(self.service.clone()));
        ExtraServices::from(routes).listed::<CortexServer<Service>>()
    }

    /// The same service for parts of this process.
    pub(crate) fn in_process(&self) -> InProcess {
        let served = CortexServer::new(self.service.clone());
        InProcess::new(move |request| {
            let mut served = served.clone();
            async move {
                let answer = served.call(request).await;
                answer.unwrap_or_else(|never| match never {})
            }
        })
    }

    /// The routes of HTTP.
    pub(crate) fn router(&self, hosts: Hosts) -> Router {
        self.http.router(hosts)
    }
}

/// Means of Cortex and the agents: the same for all namespaces of a process.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) telemetry: Telemetry,
    /// Identities of those who call.
    pub(crate) identities: Identities,
    /// Time for which runs and chat turns of Cortex wait for agents that are away, if another one than usual.
    pub(crate) returning: Option<Duration>,
}

/// Cortex and the agents of one namespace. [`stop`](Self::stop) them before its hub.
pub(crate) struct World {
    doors: CortexDoors,
    cortex: Running,
    team: Option<Team>,
    /// The files of Cortex's turns are this process's until the end.
    _kept: Kept,
}

impl World {
    /// Starts them in a namespace, on its hub at this address, and opens the doors to Cortex.
    ///
    /// # Errors
    ///
    /// Something is wrong with the files, or one of them cannot start.
    pub(crate) async fn start(
        name: &Namespace,
        hub: &str,
        doors: CortexDoors,
        crew: Crew,
        settings: &Settings,
        means: &Means,
    ) -> anyhow::Result<Self> {
        let kept = Kept::of_cortex(settings).await?;
        let mut workflows = Kept::of_workflows(settings).await?;
        let mut asked = CortexSettings::new(hub, means.model.clone());
        asked.returning = means.returning.unwrap_or(asked.returning);
        asked.identities = Some((means.identities.clone(), name.to_string()));
        let mut cortex = cortex::lasting(asked, &kept, &means.telemetry);
        // Without files, Cortex shows the runs of workflows from memory.
        cortex
            .others
            .get_or_insert_with(|| Arc::new(workflows.in_memory()));
        let cortex = Cortex::start(cortex).await.context("Cortex cannot start")?;
        let runs = Runs::of(cortex.handle());
        doors.service.open(&runs);
        doors.http.open(&runs);
        let team = match crew {
            Crew::Nobody => None,
            Crew::Ours => {
                let team =
                    Team::start(hub, &means.model, settings, &means.telemetry, workflows).await?;
                let seen = Team::seen(cortex.client().directory());
                if timeout(INTRODUCTION, seen).await.is_err() {
                    tracing::warn!("Cortex has not seen all agents yet");
                }
                Some(team)
            }
        };
        Ok(Self {
            doors,
            cortex,
            team,
            _kept: kept,
        })
    }

    /// The agents that Cortex knows.
    pub(crate) fn directory(&self) -> Directory {
        self.cortex.client().directory()
    }

    /// Agents first, with `others` beside them, so that they can still tell the hub; then Cortex. Takes 5.5 s at most.
    pub(crate) async fn stop(self, others: impl Future<Output = ()>) {
        self.doors.http.close();
        let team = async {
            if let Some(team) = self.team {
                team.stop().await;
            }
        };
        if timeout(AGENTS, join(others, team)).await.is_err() {
            tracing::warn!("agents at work were broken off");
        }
        cortex::stop(self.cortex).await;
    }
}
