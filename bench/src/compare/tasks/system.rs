//! The systems of the task measurements.

use std::path::Path;

use anyhow::Context as _;

use super::{
    Request, agents::Agents, jetstream::StreamWorkers, nats::Repliers, restate::RestateService,
    rig::TaskLoad,
};
use crate::compare::{scene::Stage, server::Server, system::System};

/// A system, and its form of delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::compare) enum TaskSystem {
    /// Tasks on the hub without a disk.
    HubMemory,
    /// Tasks on the hub that answers once they are on the disk.
    HubSynced,
    /// Requests and replies, not stored.
    NatsCore,
    /// Requests and answers, both stored, and synced at intervals.
    JetStream,
    /// Invocations of a service, stored.
    Restate,
}

impl TaskSystem {
    pub(super) const ALL: [Self; 5] = [
        Self::HubSynced,
        Self::HubMemory,
        Self::NatsCore,
        Self::JetStream,
        Self::Restate,
    ];

    /// Display name.
    pub(in crate::compare) fn name(self) -> &'static str {
        self.server().map_or("Restate", System::name)
    }

    /// True if its program is available. Installs Restate if missing.
    pub(super) async fn is_here(self, stage: &Stage) -> bool {
        match self.server() {
            Some(system) => system.is_here(&stage.programs),
            None => stage.restate().await.is_some(),
        }
    }

    /// Starts a server in the folder, and its workers.
    ///
    /// # Errors
    ///
    /// The server does not start, or refuses a worker.
    pub(super) async fn start(
        self,
        load: TaskLoad,
        stage: &Stage,
        folder: &Path,
    ) -> anyhow::Result<(Server, Workers)> {
        let Some(system) = self.server() else {
            let program = stage.restate().await.context("Restate is not here")?;
            let (server, service) = RestateService::start(program, folder).await?;
            return Ok((server, Workers::Restate(service)));
        };
        let server = system.start(&stage.programs, folder).await?;
        let (address, hops) = (server.address(), load.hops);
        let workers = match system {
            System::NatsCore => Workers::Nats(Repliers::connect(address, hops).await?),
            System::JetStream => {
                Workers::JetStream(StreamWorkers::connect(address, hops, load.in_flight).await?)
            }
            _ => Workers::Agents(Agents::connect(address, hops, load.in_flight).await?),
        };
        Ok((server, workers))
    }

    /// The equivalent system of the message rows, if there is one.
    fn server(self) -> Option<System> {
        match self {
            Self::HubMemory => Some(System::HubMemory),
            Self::HubSynced => Some(System::HubSynced),
            Self::NatsCore => Some(System::NatsCore),
            Self::JetStream => Some(System::JetStream),
            Self::Restate => None,
        }
    }
}

/// The requester and the workers of a system.
#[derive(Debug)]
pub(super) enum Workers {
    Agents(Agents),
    Nats(Repliers),
    JetStream(StreamWorkers),
    Restate(RestateService),
}

impl Workers {
    /// The repeated request.
    pub(super) fn request(&self) -> Request {
        match self {
            Self::Agents(agents) => agents.request(),
            Self::Nats(repliers) => repliers.request(),
            Self::JetStream(workers) => workers.request(),
            Self::Restate(service) => service.request(),
        }
    }

    /// Disconnects the agents from the hub.
    pub(super) async fn leave(self) {
        if let Self::Agents(agents) = self {
            agents.leave().await;
        }
    }
}
