//! `agenthub agents`: those of the hub, and agents elsewhere.

use agenthub_a2a::cli::Elsewhere;
use agenthub_terminal::{commands::Agents as OfTheHub, flags::Hub};
use clap::Subcommand;

/// `agenthub agents`
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// What the hub alone is asked.
    #[command(flatten)]
    Hub(OfTheHub),
    /// What its process is asked.
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
