//! `agenthub log`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Json;

/// `agenthub log`
#[derive(Debug, Subcommand)]
pub(crate) enum Log {
    /// Reads everything and names the first damage, beside a running hub too
    Verify {
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        json: Json,
    },
    /// Prints one JSON object for each record
    Export {
        #[command(flatten)]
        data: Data,
        /// Only what came after this position
        #[arg(long, value_name = "POSITION", default_value_t = 0)]
        after: u64,
        /// Only up to and including this position
        #[arg(long, value_name = "POSITION")]
        until: Option<u64>,
    },
    /// Takes a snapshot and removes old records that nobody needs; no hub may use the folder
    Compact {
        #[command(flatten)]
        data: Data,
        /// Removes everything that the snapshot stands for, whatever its age
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Copies the log into a file as of one moment, beside a running hub too
    Backup {
        /// The file to make
        file: PathBuf,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        json: Json,
    },
}

/// Folder of the log.
#[derive(Debug, Args)]
pub(crate) struct Data {
    /// The hub's data folder [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

impl Log {
    /// Folder of the log, if one was given.
    pub(super) fn data(&self) -> Option<&PathBuf> {
        match self {
            Self::Verify { data, .. }
            | Self::Export { data, .. }
            | Self::Compact { data, .. }
            | Self::Backup { data, .. } => data.data.as_ref(),
        }
    }
}
