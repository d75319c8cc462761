//! The settings that flags of several commands stand for.

use agenthub_terminal::flags::{Folder, Keep, Model, Serve, ServeTls};

use crate::{
    cassette::CassetteFlag,
    settings::{EndedTasks, KeepRuns, Layer, ModelLayer, Tls},
};

/// Flags as a layer of the settings.
pub(super) trait Layers {
    /// The part of the settings that the flags are about.
    type Layer;

    /// The flags as a layer of the settings.
    fn layer(&self) -> Self::Layer;
}

impl Layers for Serve {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        Layer {
            grpc: self.grpc,
            http: self.http,
            insecure: self.insecure.then_some(true),
            tls: self.tls.layer(),
            ended_tasks: EndedTasks {
                most: self.ended_tasks,
                days: self.ended_tasks_days,
                mib: self.ended_tasks_mib,
            },
            bodies_mib: self.bodies_mib,
            away_agents_days: self.away_agents_days,
            away_grace_seconds: self.away_grace_seconds,
            presence_lease_seconds: self.presence_lease_seconds,
            ..self.folder.layer()
        }
    }
}

impl Layers for ServeTls {
    type Layer = Tls;

    fn layer(&self) -> Tls {
        Tls {
            cert: self.tls_cert.clone(),
            key: self.tls_key.clone(),
            client_ca: self.client_ca.clone(),
            require_client_cert: self.require_client_cert.then_some(true),
        }
    }
}

impl Layers for Keep {
    type Layer = KeepRuns;

    fn layer(&self) -> KeepRuns {
        KeepRuns::of(self.keep_runs_days.iter().cloned())
    }
}

impl Layers for Folder {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        Layer {
            data: self.data.clone(),
            ephemeral: self.ephemeral.then_some(true),
            ..Layer::default()
        }
    }
}

impl Layers for Model {
    type Layer = ModelLayer;

    fn layer(&self) -> ModelLayer {
        ModelLayer {
            name: self.model.clone(),
            cassette: match (&self.record, &self.replay) {
                (Some(file), _) => Some(CassetteFlag::Record(file.clone())),
                (None, Some(file)) => Some(CassetteFlag::Replay(file.clone())),
                (None, None) => None,
            },
            ..ModelLayer::default()
        }
    }
}
