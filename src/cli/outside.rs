//! `agenthub agents`: those of the hub, and agents elsewhere.

use agenthub_terminal::{
    commands::{Agents as OfTheHub, Query},
    complete,
    flags::Hub,
};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::Who;

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

/// Commands for agents elsewhere.
#[derive(Debug, Subcommand)]
pub(crate) enum Elsewhere {
    /// Makes an agent elsewhere, which speaks A2A, an agent of the hub
    Add(Box<Add>),
    /// Lists the agents elsewhere that are on the hub
    Outside {
        #[command(flatten)]
        query: Query,
    },
    /// Takes an agent elsewhere from the hub: its open tasks fail, and what waits for it is dropped
    Remove {
        /// Its id
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        id: String,
        #[command(flatten)]
        query: Query,
    },
}

/// `agenthub agents add`
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The agent's address, or that of its card
    pub(crate) url: String,
    /// Its id on the hub [default: made of the name on its card]
    #[arg(long)]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) who: Who,
    #[command(flatten)]
    pub(crate) query: Query,
}

impl Agents {
    /// The hub that is asked.
    pub(crate) fn hub(&self) -> &Hub {
        match self {
            Self::Hub(agents) => agents.hub(),
            Self::Elsewhere(Elsewhere::Add(add)) => &add.query.hub,
            Self::Elsewhere(Elsewhere::Outside { query } | Elsewhere::Remove { query, .. }) => {
                &query.hub
            }
        }
    }
}
