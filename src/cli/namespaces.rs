//! `agenthub namespaces`

use agenthub_access::Namespace;
use clap::{Args, Subcommand};

use super::{Json, access::TokensFolder};
use crate::settings::Layer;

/// `agenthub namespaces`
#[derive(Debug, Subcommand)]
pub(crate) enum Namespaces {
    /// Adds a namespace: a directory, tasks, topics, mailboxes and runs of its own behind the same addresses
    Add {
        /// Its name: small letters, digits, - and _
        name: Namespace,
        #[command(flatten)]
        data: TokensFolder,
    },
    /// Shows the namespaces
    List {
        #[command(flatten)]
        data: TokensFolder,
        #[command(flatten)]
        json: Json,
    },
    /// Removes a namespace, and revokes its tokens
    Remove(RemoveNamespace),
}

/// `agenthub namespaces remove`
#[derive(Debug, Args)]
pub(crate) struct RemoveNamespace {
    /// Its name
    pub(crate) name: Namespace,
    /// Removes its agents, tasks, mail and runs for good
    #[arg(long, conflicts_with = "keep")]
    pub(crate) with_everything: bool,
    /// Leaves its files, for a namespace of the same name that is added later
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) data: TokensFolder,
}

impl Namespaces {
    /// The flags as a layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        let data = match self {
            Self::Add { data, .. } | Self::List { data, .. } => data,
            Self::Remove(remove) => &remove.data,
        };
        Layer {
            data: data.data.clone(),
            ..Layer::default()
        }
    }
}
