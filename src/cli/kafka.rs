//! Flags of those whose messages go over Kafka.

use clap::Args;

use super::{Layer, Layers};
use crate::settings;

/// The way to Kafka, and the store of what messages name.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Kafka {
    /// Kafka's servers, over which steps of workflows go to their agents; commas in between [default: none, steps go over the hub]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) kafka: Option<String>,
    /// Store of inputs and outputs, the same for executors and bridges: file:///DIR, s3://BUCKET/PREFIX, gs://… or az://… [default: claims in the data folder]
    #[arg(long, value_name = "URL")]
    pub(crate) claims: Option<String>,
    /// Days for which inputs and outputs are kept there; 0 is for ever [default: 30]
    #[arg(long, value_name = "N")]
    pub(crate) claims_days: Option<u32>,
}

impl Kafka {
    /// The flags, above those of other flags.
    pub(super) fn over(&self, layer: Layer) -> Layer {
        Layer {
            kafka: self.layer(),
            claims: self.claims.clone(),
            claims_days: self.claims_days,
            ..layer
        }
    }
}

impl Layers for Kafka {
    type Layer = settings::Kafka;

    fn layer(&self) -> settings::Kafka {
        settings::Kafka {
            servers: self.kafka.clone(),
            ..settings::Kafka::default()
        }
    }
}
