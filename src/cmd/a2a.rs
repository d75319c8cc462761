//! `agenthub a2a`

mod call;
mod card;
mod shown;

use std::process::ExitCode;

use agenthub_a2a::{
    client::{CardUrl, Fetched, fetch},
    json::to_json,
    v1::AgentCard,
};
use agenthub_outbound::Connector;
use agenthub_terminal::output;
use http::Uri;

use crate::{cli::A2a, settings::connector_of_a_person};

/// Shows and asks agents elsewhere.
pub(super) async fn run(args: A2a) -> anyhow::Result<ExitCode> {
    let connector = connector_of_a_person();
    match args {
        A2a::Card { url, json } => {
            let (card, _) = find(&connector, &url).await?;
            match json.json {
                true => output::line(to_json(&card).to_string())?,
                false => output::line(card::shown(&card))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        A2a::Call(args) => call::run(&connector, *args).await,
    }
}

/// The card of the agent at this address, and where it is.
async fn find(connector: &Connector, url: &str) -> anyhow::Result<(AgentCard, Uri)> {
    match fetch(connector, &CardUrl::of(url)?, "").await? {
        Fetched::Card { card, url, .. } => Ok((*card, url)),
        Fetched::Unchanged => anyhow::bail!("the server at {url} says that its card is known here"),
    }
}
