//! `agenthub tokens` and `agenthub access`

use std::{path::PathBuf, str::FromStr, time::Duration};

use agenthub_access::{Namespace, Permit, Principal};
use clap::{Args, Subcommand};

use super::{Hub, Json};
use crate::settings::Layer;

/// `agenthub tokens`
#[derive(Debug, Subcommand)]
pub(crate) enum Tokens {
    /// Makes a token for a principal and prints it, once; from the first one on, the hub needs to know who calls
    Issue(Issue),
    /// Shows the tokens that were issued, without their secrets
    List {
        #[command(flatten)]
        data: TokensFolder,
        #[command(flatten)]
        json: Json,
    },
    /// Ends a token; streams that it opened end within a second
    Revoke {
        /// The id that `issue` and `list` show
        id: String,
        #[command(flatten)]
        data: TokensFolder,
    },
}

/// `agenthub tokens issue`
#[derive(Debug, Args)]
pub(crate) struct Issue {
    /// The bearer: a person, an agent or a program, such as alice or ci@example.com
    pub(crate) principal: Principal,
    /// Roles of the bearer: worker, agent, user, operator, admin, or one of the policy
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',')]
    pub(crate) roles: Vec<String>,
    /// The namespace that the bearer belongs to [default: that of the policy, else default]
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<Namespace>,
    /// Further rights, such as be:report-*; may be repeated
    #[arg(long, value_name = "RIGHT", value_delimiter = ',')]
    pub(crate) allow: Vec<Permit>,
    /// A file for the token, which only its owner may read, instead of printing it; it must not be there yet
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Time for which it lasts: 12h, 90d, or never
    #[arg(long, value_name = "TIME", default_value = "90d")]
    pub(crate) expires: Expiry,
    #[command(flatten)]
    pub(crate) data: TokensFolder,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Folder of the hub, in which its tokens are.
#[derive(Debug, Args)]
pub(crate) struct TokensFolder {
    /// The hub's data folder, whether it runs or not [default: ./.agenthub]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// `agenthub access`
#[derive(Debug, Subcommand)]
pub(crate) enum AccessCommand {
    /// Says whether somebody may do something, and which rule decides
    Explain(Explain),
    /// Says as whom this command calls the hub
    Whoami {
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
}

/// `agenthub access explain`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The principal
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) principal: Principal,
    /// Its roles, instead of those of its tokens
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',')]
    pub(crate) roles: Vec<String>,
    /// The principal on whose behalf it acts
    #[arg(long = "for", value_name = "PRINCIPAL")]
    pub(crate) on_behalf_of: Option<Principal>,
    /// The action: be, send, delegate, see, chat, runs, approve, impersonate, operate or administer
    #[arg(long = "do", value_name = "ACTION")]
    pub(crate) action: String,
    /// Its object: an agent for be, send and delegate; directory, own-task, task, events or runs for see; own-run or run for approve
    #[arg(long = "on", value_name = "OBJECT", default_value = "")]
    pub(crate) resource: String,
    #[command(flatten)]
    pub(crate) hub: Hub,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Time until something expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry(pub(crate) Option<Duration>);

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self(None));
        }
        let wrong = || format!("`{text}` is no time: 30m, 12h, 90d, or never");
        let (number, unit) = text
            .split_at_checked(text.len().saturating_sub(1))
            .ok_or_else(wrong)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            _ => return Err(wrong()),
        };
        let number: u32 = number.parse().map_err(|_| wrong())?;
        match number {
            0 => Err(wrong()),
            number => Ok(Self(Some(Duration::from_secs(seconds * u64::from(number))))),
        }
    }
}

impl Tokens {
    /// The flags as a layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        let data = match self {
            Self::Issue(issue) => &issue.data,
            Self::List { data, .. } | Self::Revoke { data, .. } => data,
        };
        Layer {
            data: data.data.clone(),
            ..Layer::default()
        }
    }
}

impl AccessCommand {
    /// The hub that is asked.
    pub(super) fn hub(&self) -> &Hub {
        match self {
            Self::Explain(explain) => &explain.hub,
            Self::Whoami { hub, .. } => hub,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        let of = |text: &str| text.parse::<Expiry>();
        assert_eq!(of("never"), Ok(Expiry(None)));
        assert_eq!(of("90d"), Ok(Expiry(Some(Duration::from_secs(7_776_000)))));
        assert_eq!(of("1s"), Ok(Expiry(Some(Duration::from_secs(1)))));
        for wrong in ["", "d", "0d", "90", "-1d", "1y", "é"] {
            assert!(of(wrong).expect_err(wrong).contains("12h"), "{wrong}");
        }
    }
}
