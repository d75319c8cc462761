//! A team that was on the hub for somebody else's request goes with that; whoever still waits for its answer has it at work from then on.

use std::time::Duration;

use agenthub_sdk::Client;
use anyhow::bail;
use tokio::time::{Instant, sleep_until};

use super::{Question, start::Here};
use crate::{cmd::sop::found::Found, output, settings::Settings};

/// How long the one who leads is away before the team is started here: as long as a restart takes. Should it come back all the same, both have it at
/// work, and the hub hands each task to one of them.
const AWAY: Duration = Duration::from_secs(3);

impl Question<'_> {
    /// Waits until nobody has the team at work, and starts it here.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(super) async fn take_over(
        &self,
        client: &Client,
        found: &Found,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<()> {
        gone(client, &self.leads.name).await;
        if !self.args.json {
            output::aside("the team has left the hub: it is here for this request");
        }
        match self.host(&settings.hub, found, settings, here).await? {
            true => Ok(()),
            false => bail!("the team has left the hub, and cannot be started here"),
        }
    }
}

/// Ends when an agent has been away for a while. The hub tells of every change.
async fn gone(client: &Client, agent: &str) {
    let directory = client.directory();
    let mut changed = directory.changed();
    let mut since = None;
    loop {
        changed.mark_unchanged();
        since = match directory.get(agent) {
            Some(entry) if entry.online => None,
            _ => Some(since.unwrap_or_else(Instant::now)),
        };
        let away = async {
            match since {
                Some(since) => sleep_until(since + AWAY).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = away => return,
            change = changed.changed() => if change.is_err() {
                return std::future::pending().await;
            },
        }
    }
}
