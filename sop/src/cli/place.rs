//! Hub of a team: one that is there, or one of this process.

use agenthub_sdk::Error;
use agenthub_terminal::{connect::listens, flags::Hub};
use anyhow::bail;

use super::program::Settings;

/// Hub of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The one that was named, or the one that listens where hubs are expected.
    There,
    /// One of this process: no hub was named, and none listens.
    Own,
    /// One of this process, as that was wanted.
    Here,
}

impl Place {
    /// The place that the flags name.
    pub(super) async fn find(hub: &Hub, here: bool, settings: &Settings) -> Self {
        match here {
            true => Self::Here,
            false if hub.is_named(&settings.hub) || listens(&settings.hub).await => Self::There,
            false => Self::Own,
        }
    }
}

/// Refuses to go on without a hub, in words that name the flag.
pub(super) fn unreachable<T>(error: Error) -> anyhow::Result<T> {
    match error {
        error if error.is_out_of_reach() => {
            bail!("{error}, or leave --hub away for one of this process")
        }
        error => Err(error.into()),
    }
}
