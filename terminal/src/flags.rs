//! Flags that several commands have.

use std::{num::NonZeroU32, path::PathBuf, str::FromStr};

use anyhow::anyhow;
use clap::Args;

use crate::{Listen, calls::DEFAULT_HUB};

/// Prints JSON.
#[derive(Clone, Copy, Debug, Args)]
pub struct Json {
    /// Prints one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// The hub's address.
#[derive(Debug, Args)]
pub struct Hub {
    /// The hub's address [default: http://127.0.0.1:50051]
    #[arg(long, value_name = "URL")]
    pub hub: Option<String>,
}

impl Hub {
    /// True if the flag, or the address of the settings, names a hub, so that it is to be that one.
    pub fn is_named(&self, settings: &str) -> bool {
        self.hub.is_some() || settings != DEFAULT_HUB
    }
}

/// The folder for files.
#[derive(Debug, Args)]
pub struct Folder {
    /// The folder for what the hub knows, log files and the history of the chat [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Keeps everything in memory, and writes no files
    #[arg(long)]
    pub ephemeral: bool,
}

/// Retention of runs.
#[derive(Debug, Args)]
pub struct Keep {
    /// Days for which runs that are over are kept, of all agents or of one; 0 is for ever; may be repeated [default: 30]
    #[arg(long, value_name = "[AGENT=]N", value_delimiter = ',')]
    pub keep_runs_days: Vec<Days>,
}

/// The model that decides.
#[derive(Debug, Args)]
pub struct Model {
    /// The model, such as openai/gpt-5, or offline [default: offline, unless a provider is configured]
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,
    /// Writes every prompt and answer into a file, for --replay
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Asks no model: what was recorded answers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "record"])]
    pub replay: Option<PathBuf>,
}

/// Flags of a hub.
#[derive(Debug, Args)]
pub struct Serve {
    /// Address of gRPC; port 0 is any free one [default: 127.0.0.1:50051]
    #[arg(long, value_name = "ADDR")]
    pub grpc: Option<Listen>,
    /// Address of HTTP: health, readiness, metrics, and runs where Cortex is [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub http: Option<Listen>,
    /// The folder for files.
    #[command(flatten)]
    pub folder: Folder,
    /// Ended tasks that stay known; the oldest are forgotten [default: 1000000]
    #[arg(long, value_name = "N")]
    pub ended_tasks: Option<usize>,
    /// Days for which they stay known [default: 30]
    #[arg(long, value_name = "N")]
    pub ended_tasks_days: Option<u32>,
    /// MiB of their contents that stay, on disk or in memory [default: 1024]
    #[arg(long, value_name = "N")]
    pub ended_tasks_mib: Option<u32>,
    /// MiB of waiting mail that are in memory; the rest is read from the log when it is delivered [default: 256]
    #[arg(long, value_name = "N")]
    pub bodies_mib: Option<u32>,
    /// Days of absence after which an agent leaves the directory; 0 is never [default: 30]
    #[arg(long, value_name = "N")]
    pub away_agents_days: Option<u32>,
    /// Seconds that an agent may be away, to start again, before its work is called back [default: 15]
    #[arg(long, value_name = "N")]
    pub away_grace_seconds: Option<u32>,
    /// Seconds after which the mail of an agent that broke off, or says nothing, goes to another instance of it [default: 10]
    #[arg(long, value_name = "N")]
    pub presence_lease_seconds: Option<NonZeroU32>,
    /// TLS.
    #[command(flatten)]
    pub tls: ServeTls,
    /// Listens on addresses that other machines reach, though nobody's identity is checked
    #[arg(long)]
    pub insecure: bool,
    /// Prints one line of JSON when everything is ready, instead of the banner
    #[arg(long)]
    pub json: bool,
}

/// TLS of the addresses of a hub, or of a door to it.
#[derive(Debug, Args)]
pub struct ServeTls {
    /// Serves with TLS: the certificate of this server, in PEM; changed files are read again
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The key of --tls-cert
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Asks clients for certificates, which come from this CA
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Refuses clients without a certificate
    #[arg(long)]
    pub require_client_cert: bool,
}

/// TLS of connections to a hub.
#[derive(Debug, Args)]
pub struct ClientTls {
    /// With https://: trusts the hub's certificate if it comes from this CA, not from those of the system
    #[arg(long, global = true, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// The certificate to show to the hub
    #[arg(long, global = true, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// The key of --cert
    #[arg(id = "client_key", long = "key", global = true, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

/// `DAYS` or `AGENT=DAYS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Days {
    /// The agent that it is for; all that are not named otherwise.
    pub agent: Option<String>,
    /// Number of days.
    pub days: u32,
}

impl FromStr for Days {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (agent, days) = match text.split_once('=') {
            Some((agent, days)) => (Some(agent.trim()), days),
            None => (None, text),
        };
        match (agent, days.trim().parse()) {
            (Some(""), _) | (_, Err(_)) => Err(anyhow!(
                "`{text}` is neither a number of days nor AGENT=DAYS"
            )),
            (agent, Ok(days)) => Ok(Self {
                agent: agent.map(str::to_owned),
                days,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_of_days_is_refused() {
        for wrong in ["", "x", "=3", "a=", "a=-1", "a=b=3", "3.5"] {
            let error = wrong.parse::<Days>().expect_err(wrong).to_string();
            assert!(error.contains(&format!("`{wrong}`")), "{error}");
        }
    }
}
