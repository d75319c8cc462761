//! A team that was on the hub for somebody else's request goes with that; whoever still waits for its answer has it at work from then on.

use agenthub_sdk::Client;
use agenthub_terminal::output;

use super::{
    super::{program::Settings, team_folder::TeamFolder},
    Question,
    start::Here,
};

impl Question<'_> {
    /// Waits until the one who leads has been away for longer than agents may be, and starts the team here. Where that cannot be, it was shown why,
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
        client.directory().gone(&self.leads.name).await;
        if !self.args.json {
            output::aside("the team has left the hub: it is started here for this request");
        }
        self.host(&settings.hub, found, settings, here)
            .await
            .map(drop)
    }
}
