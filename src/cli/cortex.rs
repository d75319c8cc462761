//! Cortex alone, on the command line.

use agenthub_terminal::{Listen, flags::ServeTls};
use clap::Args;

use super::{Layer, Layers, Place};

/// `agenthub cortex`
#[derive(Debug, Args)]
pub(crate) struct Cortex {
    #[command(flatten)]
    place: Place,
    /// Serves cortex.Cortex (chats and runs) over gRPC here; port 0 is any free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) grpc: Option<Listen>,
    /// Serves runs over HTTP here; port 0 is any free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<Listen>,
    #[command(flatten)]
    tls: ServeTls,
    /// Listens on addresses that other machines reach, though nobody's identity is checked
    #[arg(long)]
    insecure: bool,
}

impl Cortex {
    /// The flags as a layer of the settings. Its own addresses are no settings: those are the hub's.
    pub(super) fn layer(&self) -> Layer {
        Layer {
            insecure: self.insecure.then_some(true),
            tls: self.tls.layer(),
            ..self.place.layer()
        }
    }
}
