//! `agenthub agents`: those of the hub, and agents elsewhere.

use agenthub_a2a::cli::Elsewhere;
use agenthub_terminal::{commands::Agents as OfTheHub, flags::Hub};
use clap::Subcommand;

/// `agenthub agents`
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Commands for the hub.
    #[command(flatten)]
    Hub(OfTheHub),
    /// Commands for the hub's process.
    #[command(flatten)]
    Elsewhere(Elsewhere),
}

impl Agents {
    /// The hub that is asked.
    pub(crate) fn hub(&self) -> &Hub {
        match self {
            Self::Hub(agents) => agents.hub(),
            Self::Elsewhere(elsewhere) => elsewhere.hub(),
        }
    }
}
