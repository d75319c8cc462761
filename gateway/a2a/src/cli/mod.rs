//! `agenthub a2a`, and agents elsewhere in `agenthub agents`.

mod args;
mod call;
mod card;
mod outside;
mod printer;

use std::process::ExitCode;

use crate::{
    client::{CardUrl, Fetched, fetch},
    json::to_json,
    v1::AgentCard,
};
use agenthub_outbound::{Connector, Network, Settings};
use agenthub_terminal::output;
use http::Uri;

pub use self::{
    args::{A2a, Elsewhere},
    outside::run as agents,
};

/// Shows and asks agents elsewhere.
///
/// # Errors
///
/// The agent cannot be reached, or refuses; the line says which and why.
pub async fn run(args: A2a) -> anyhow::Result<ExitCode> {
    let connector = connector();
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

/// A connector that goes wherever the person says who gives the command.
fn connector() -> Connector {
    Connector::new(Settings {
        allow: Network::everything().to_vec(),
        ..Settings::default()
    })
}
