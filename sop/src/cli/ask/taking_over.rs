//! A team that was on the hub for somebody else's request goes with that; whoever still waits for its answer has it at work from then on.

use agenthub_sdk::Client;
use agenthub_terminal::output;
use tokio::time::sleep;

use super::{
    super::{program::Settings, team_folder::TeamFolder},
    Question,
    start::Here,
    turns::AGAIN,
};

impl Question<'_> {
    /// Waits until the one who leads has been away for longer than agents may be, or the process that has the team's files lets them go, and starts the team here. Where that cannot be, it was shown why,
    /// and the request goes on waiting for whoever has the team at work next.
    ///
    /// # Errors
    ///
    /// The hub or a model's settings are against it.
    pub(super) async fn take_over(
        &self,
        client: &Client,
        found: &TeamFolder,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<()> {
        loop {
            // Who shares the data folder has let the team go when its files are free.
            if !here.is_shared {
                client.directory().gone(&self.leads.name).await;
            }
            if self.claim(found, settings, here).await? {
                break;
            }
            // Another request has it at work.
            here.is_shared = true;
            sleep(AGAIN).await;
        }
        if !self.args.json {
            output::aside("the team has left the hub: it is started here for this request");
        }
        self.host(&settings.hub, found, settings, here)
            .await
            .map(drop)
    }
}
