//! `agenthub up`

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use agenthub_access::Namespace;
use agenthub_cortex::CORTEX;
use agenthub_sdk::durable::Telemetry;
use agenthub_sop::DEFAULT_DIR;
use agenthub_terminal::{calls, output, stop::Signals};

use super::{SERVER_LEVEL, workflow::Served};
use crate::{
    banner::{Banner, Talk},
    chat::{self, Folder, Session, Terminal},
    cli::Up,
    http,
    logging::{self, Target},
    model,
    reaching::Reaching,
    serve::Serving,
    settings::{Folders, Settings},
    spaces::{Inhabitants, Spaces},
    team::Team,
    world::{CortexDoors, Crew, Means, World},
};

/// Everything that `up` runs.
pub(super) struct Everything {
    serving: Serving,
    world: World,
    /// The namespaces beside `default`.
    spaces: Option<Spaces>,
    served: Option<Served>,
    means: Means,
}

/// Folders whose files the pages show: that of workflows, and that of a team which `agenthub sop` finds by itself.
fn folders(args: &Up) -> Folders {
    let team = PathBuf::from(DEFAULT_DIR);
    Folders {
        teams: Some(team).filter(|dir| dir.is_dir()).into_iter().collect(),
        workflows: args.workflows.iter().cloned().collect(),
    }
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
    let mut settings = settings.clone();
    settings.folders = folders(args);
    let settings = &settings;
    let mut everything = tokio::select! {
        started = Everything::start(settings, Crew::Ours, None) => started?,
        _ = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    everything.open_namespaces(settings).await;
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
    /// Runs and chat turns of Cortex wait for the time `returning` for agents that are away.
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
        let doors = CortexDoors::default();
        let (services, routes) = (doors.services(), doors.router(http::hosts(settings.http)));
        let in_process = doors.in_process();
        let serving = Serving::start(settings, services, routes, Some(in_process)).await?;
        let means = Means {
            model,
            telemetry,
            identities: serving.identities().clone(),
            returning,
        };
        serving.measure(&means.telemetry);
        // Processes that it starts call the hub as it does.
        let settings = &settings.clone().with_token_file(serving.token_file());
        let world = World::start(
            &Namespace::default(),
            &serving.url(),
            doors,
            crew,
            settings,
            &means,
        )
        .await?;
        Ok(Self {
            serving,
            world,
            spaces: None,
            served: None,
            means,
        })
    }

    /// Opens the namespaces beside `default`, and more while this lasts, each with its own Cortex and agents.
    async fn open_namespaces(&mut self, settings: &Settings) {
        let means = self.means.clone();
        let inhabitants = Inhabitants::Ours(Box::new(means));
        let spaces = Spaces::start(&self.serving, settings, inhabitants).await;
        spaces.measure(&self.means.telemetry);
        self.spaces = Some(spaces);
    }

    fn banner(&self, settings: &Settings, log: Target, talk: Talk) -> Banner {
        Banner {
            program: calls::program(),
            grpc: self.serving.grpc(),
            http: self.serving.http(),
            url: self.serving.url(),
            reaching: Reaching::to(settings, self.serving.identities().is_open()),
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
        let known = self.world.directory().all();
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

    /// Agents first, so that they can still tell the hub; then Cortex, then the hub. Takes 9.25 s at most, less than a process has.
    pub(super) async fn stop(self) {
        let spaces = async {
            if let Some(spaces) = self.spaces {
                spaces.stop().await;
            }
        };
        let served = async {
            if let Some(served) = self.served {
                served.stop().await;
            }
        };
        tokio::join!(spaces, self.world.stop(served));
        tokio::join!(self.serving.shutdown(), self.means.telemetry.stop());
    }
}
