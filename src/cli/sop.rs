//! `agenthub sop`, as a layer of the settings.

use agenthub_sop::cli::Sop;

use super::{Layer, layers::Layers};

impl Layers for Sop {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        match self {
            Self::Up(up) => Layer {
                hub: up.hub.hub.clone(),
                keep_runs: up.keep.layer(),
                model: up.model.layer(),
                ..up.serve.layer()
            },
            Self::Ask(ask) => Layer {
                hub: ask.hub.hub.clone(),
                keep_runs: ask.keep.layer(),
                model: ask.model.layer(),
                ..ask.folder.layer()
            },
            Self::Report(report) => Layer {
                data: report.data.clone(),
                model: report.model.layer(),
                ..Layer::default()
            },
            Self::Check(_) | Self::New(_) => Layer::default(),
        }
    }
}
