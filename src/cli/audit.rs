//! `agenthub audit`

use std::path::PathBuf;

use agenthub_access::audit::KnownHead;
use clap::{Args, Subcommand};

use super::Json;
use crate::settings::Layer;

/// `agenthub audit`
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Shows the last lines: who did what to what, allowed or denied, and by which rule
    Tail(Tail),
    /// Reads everything and names the first line that was changed, added, moved or removed, beside a running hub too
    Verify {
        /// A head that `verify` has printed before, LINE:HASH or its hash alone, which was kept elsewhere: shows whether lines up to it are gone or were written anew
        #[arg(long, value_name = "LINE:HASH")]
        head: Option<KnownHead>,
        #[command(flatten)]
        data: AuditFolder,
        #[command(flatten)]
        json: Json,
    },
}

/// `agenthub audit tail`
#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// Shows what comes, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Number of lines to begin with
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) lines: u16,
    /// Only what this principal did
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// Only what was denied
    #[arg(long)]
    pub(crate) denied: bool,
    #[command(flatten)]
    data: AuditFolder,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Folder of the hub, in which its audit is.
#[derive(Debug, Args)]
pub(crate) struct AuditFolder {
    /// The hub's data folder, whether it runs or not [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Audit {
    /// The flags as a layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        let data = match self {
            Self::Tail(tail) => &tail.data,
            Self::Verify { data, .. } => data,
        };
        Layer {
            data: data.data.clone(),
            ..Layer::default()
        }
    }
}
