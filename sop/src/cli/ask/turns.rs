//! Turns of requests to one team with one data folder: the first one has the team in its process, the others ask it there.

use std::time::Duration;

use agenthub_sdk::Client;
use agenthub_terminal::{calls::DEFAULT_DATA, output};
use anyhow::bail;
use tokio::time::{Instant, sleep};

use super::{
    super::{program::Settings, team_folder::TeamFolder},
    Question,
    start::Here,
};

/// Time for which the team of another process is waited for.
const COMING: Duration = Duration::from_secs(30);

/// Time for which files of agents are waited for that another process is about to let go.
const LEAVING: Duration = Duration::from_secs(5);

/// Interval of further looks at files that another process has.
pub(super) const AGAIN: Duration = Duration::from_millis(200);

/// Place of the team, once it is known whose turn it is.
pub(super) enum Turn {
    /// It is on the hub, in another process.
    Elsewhere,
    /// It is to be started here, with these settings.
    Own(Settings),
}

impl Question<'_> {
    /// Waits until the team's files are this process's, or the team of the process that has them is on the hub.
    ///
    /// # Errors
    ///
    /// Neither comes within 30 s, and the data folder was named; without, no files are kept.
    pub(super) async fn turn(
        &self,
        client: &Client,
        hub: &str,
        found: &TeamFolder,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<Turn> {
        let began = Instant::now();
        let data = settings.data.as_deref();
        let data = data.unwrap_or(DEFAULT_DATA.as_ref()).display();
        let mut is_told = self.args.json;
        loop {
            if self.claim(found, settings, here).await? {
                return Ok(Turn::Own(settings.clone()));
            }
            here.is_shared = true;
            if self.is_elsewhere(client, hub).await? {
                return Ok(Turn::Elsewhere);
            }
            if began.elapsed() >= COMING {
                break;
            }
            if !std::mem::replace(&mut is_told, true) {
                output::aside(format!(
                    "another process has the team's files in {data}: its team is waited for"
                ));
            }
            sleep(AGAIN).await;
        }
        if self.args.folder.data.is_some() {
            let name = &self.leads.name;
            bail!(
                "another process has the files of {name} in {data}, and its team is not on the hub at {hub}: stop that process, or give this one \
                 a folder of its own (--data DIR)"
            );
        }
        output::aside(format!(
            "another process has the team's files in {data}, and its team is not on the hub, so this request keeps no files (--data DIR gives it \
             a folder of its own)"
        ));
        here.workshop = None;
        Ok(Turn::Own(Settings {
            data: None,
            ..settings.clone()
        }))
    }

    /// Takes the files of the team, that of who leads first: whoever has it has the team. False if another process has it.
    pub(super) async fn claim(
        &self,
        found: &TeamFolder,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<bool> {
        let workshop = self.workshop(settings, here)?;
        if !workshop.claim(&self.leads.name).await? {
            return Ok(false);
        }
        // A process that has just let the first go lets go the others.
        let began = Instant::now();
        for name in found.discovered.agents.keys() {
            while !workshop.claim(name).await? && began.elapsed() < LEAVING {
                sleep(AGAIN).await;
            }
        }
        Ok(true)
    }
}
