//! `agenthub up`

use std::{net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use agenthub_api::{Http, Runs, Service};
use agenthub_broker::ExtraServices;
use agenthub_cortex::{CORTEX, Cortex, Running, Settings as CortexSettings};
use agenthub_proto::cortex::cortex_server::CortexServer;
use agenthub_sdk::durable::Telemetry;
use agenthub_terminal::{calls, output, stop::Signals};
use anyhow::Context;
use tokio::time::timeout;
use tonic::service::Routes;

use super::{SERVER_LEVEL, cortex, workflow::Served};
use crate::{
    banner::{Banner, Talk},
    chat::{self, Folder, Session, Terminal},
    cli::Up,
    http,
    journal::Kept,
    logging::{self, Target},
    model,
    serve::Serving,
    settings::Settings,
    team::Team,
};

/// Time for Cortex to see the agents of this process.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// Agents beside Cortex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crew {
    /// The agents that come with the program.
    Ours,
    /// Whoever comes.
    Nobody,
}

/// Everything that `up` runs.
pub(super) struct Everything {
    serving: Serving,
    http: Http,
    cortex: Running,
    team: Option<Team>,
    served: Option<Served>,
    telemetry: Telemetry,
    /// The files of Cortex's turns are this process's until the end.
    _kept: Kept,
}

/// Runs everything until the chat is left or it is told to stop.
pub(super) async fn run(args: &Up, settings: &Settings) -> anyhow::Result<ExitCode> {
    let is_wanted = !args.serve.json && !args.no_chat;
    let talk = match Terminal::find() {
        Terminal::Able if is_wanted => Talk::Here,
        Terminal::Unable if is_wanted => Talk::Unable,
        _ => Talk::Elsewhere,
    };
    let with_chat = talk == Talk::Here;
    let log = match with_chat {
        true => logging::beside_chat(settings.data(), "agenthub.log"),
        false => Target::Stderr,
    };
    logging::start(settings.log.as_deref(), SERVER_LEVEL, &log)?;
    let mut signals = Signals::new()?;
    let mut everything = tokio::select! {
        started = Everything::start(settings, Crew::Ours, None) => started?,
        _ = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    if let Some(dir) = &args.workflows {
        match Served::start(dir, &everything.url(), settings).await {
            Ok(served) => everything.served = Some(served),
            Err(error) => {
                everything.stop().await;
                return Err(error);
            }
        }
    }
    let banner = everything.banner(settings, log, talk);
    match args.serve.json {
        true => output::line(banner.json().to_string())?,
        false => output::line(banner.text())?,
    }
    let result = if with_chat {
        let hub = everything.serving.url();
        let folder = Folder::new(settings.data());
        let talk = async {
            let session = Session::open(&hub, None).await?;
            chat::interactive(session, folder, &mut signals)
                .await
                .map(drop)
        };
        tokio::select! {
            left = talk => left,
            error = everything.serving.failed() => Err(error),
        }
    } else {
        tokio::select! {
            _ = signals.next() => Ok(()),
            error = everything.serving.failed() => Err(error),
        }
    };
    let left = signals.leave(everything.stop()).await;
    result?;
    left?;
    Ok(ExitCode::SUCCESS)
}

impl Everything {
    /// Starts the hub, Cortex and the agents.
    /// Runs of Cortex wait for the time `returning` for known agents that are away.
    ///
    /// # Errors
    ///
    /// An address cannot be had, or something is wrong with the files or the model.
    pub(super) async fn start(
        settings: &Settings,
        crew: Crew,
        returning: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let telemetry = Telemetry::start()?;
        let model = model::model(&settings.model).await?;
        let service = Service::default();
        let others = Routes::new(CortexServer::new(service.clone()));
        let others = ExtraServices::from(others).listed::<CortexServer<Service>>();
        let http = Http::default();
        let pages = http.router(http::hosts(settings.http));
        let serving = Serving::start(settings, others, pages).await?;
        let hub = serving.url();
        let kept = Kept::of_cortex(settings).await?;
        let mut workflows = Kept::of_workflows(settings).await?;
        let mut asked = CortexSettings::new(&hub, model.clone());
        asked.returning = returning.unwrap_or(asked.returning);
        let mut cortex = cortex::lasting(asked, &kept, &telemetry);
        // Without files, Cortex shows the runs of workflows from memory.
        cortex
            .others
            .get_or_insert_with(|| Arc::new(workflows.in_memory()));
        let cortex = Cortex::start(cortex).await.context("Cortex cannot start")?;
        let runs = Runs::of(cortex.handle());
        service.open(&runs);
        http.open(&runs);
        let team = match crew {
            Crew::Nobody => None,
            Crew::Ours => {
                let team = Team::start(&hub, &model, settings, &telemetry, workflows).await?;
                let seen = Team::seen(cortex.client().directory());
                if timeout(INTRODUCTION, seen).await.is_err() {
                    tracing::warn!("Cortex has not seen all agents yet");
                }
                Some(team)
            }
        };
        Ok(Self {
            serving,
            http,
            cortex,
            team,
            served: None,
            telemetry,
            _kept: kept,
        })
    }

    fn banner(&self, settings: &Settings, log: Target, talk: Talk) -> Banner {
        Banner {
            program: calls::program(),
            grpc: self.serving.grpc(),
            http: self.serving.http(),
            url: self.serving.url(),
            model: Some(settings.model.clone()),
            agents: std::iter::once(CORTEX)
                .chain(Team::names())
                .map(str::to_owned)
                .chain(self.served.iter().flat_map(Served::names))
                .collect(),
            data: settings.data().map(Into::into),
            log,
            talk,
        }
    }

    /// The agents that the hub knows and that are away.
    pub(super) fn away(&self) -> Vec<String> {
        let known = self.cortex.client().directory().all();
        let away = known.into_iter().filter(|entry| !entry.online);
        away.map(|entry| entry.card.name.clone()).collect()
    }

    /// The hub's address for programs on this machine.
    pub(super) fn url(&self) -> String {
        self.serving.url()
    }

    /// Addresses of the hub for gRPC and HTTP.
    pub(super) fn addresses(&self) -> [SocketAddr; 2] {
        [self.serving.grpc(), self.serving.http()]
    }

    /// Waits until serving ends by itself, which it does not unless something is badly wrong.
    pub(super) async fn failed(&mut self) -> anyhow::Error {
        self.serving.failed().await
    }

    /// Agents first, so that they can still tell the hub; then Cortex, then the hub.
    pub(super) async fn stop(self) {
        self.http.close();
        if let Some(served) = self.served {
            served.stop().await;
        }
        if let Some(team) = self.team {
            team.stop().await;
        }
        cortex::stop(self.cortex).await;
        tokio::join!(self.serving.shutdown(), self.telemetry.stop());
    }
}
