//! `agenthub certs`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::certs::client_name;

/// `agenthub certs`
#[derive(Debug, Subcommand)]
pub(crate) enum Certs {
    /// Makes a CA, and certificates of a server and of clients that it has signed, to try TLS
    Dev(DevCerts),
}

/// `agenthub certs dev`
#[derive(Debug, Args)]
pub(crate) struct DevCerts {
    /// The folder of the files
    #[arg(default_value = "certs")]
    pub(crate) folder: PathBuf,
    /// A name or an address by which clients call the server, beside localhost; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// A client, by a name or a SPIFFE id; may be repeated [default: client, at the first time]
    #[arg(long, value_name = "NAME", value_parser = client_name)]
    pub(crate) client: Vec<String>,
    /// Replaces certificates that are there; the CA stays
    #[arg(long)]
    pub(crate) force: bool,
}
