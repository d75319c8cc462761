//! `agenthub a2a`, and agents elsewhere in `agenthub agents`.

mod args;
mod call;
mod card;
mod outside;
mod printer;

use std::process::ExitCode;

use crate::{
    client::{Auth, CardUrl, Fetched, fetch_as, verify},
    json::to_json,
    v1::AgentCard,
};
use agenthub_outbound::{Connector, Network, Settings};
use agenthub_sdk::hub::ClientTls;
use agenthub_terminal::{output, usage::WrongUsage};
use http::Uri;
use serde_json::Value;

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
    let connector = connector()?;
    match args {
        A2a::Card { url, who, json } => {
            let found = find(&connector, &url, who.auth().as_ref()).await?;
            let signed = verify(&connector, &found.document, &found.url).await;
            match json.json {
                true => {
                    output::line(to_json(&found.card).to_string())?;
                    output::aside(output::plain(&format!("signature: {signed}")));
                }
                false => output::line(card::shown(&found.card, &signed))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        A2a::Call(args) => call::run(&connector, *args).await,
    }
}

/// A card, as it came, and where it is.
struct Found {
    card: AgentCard,
    document: Value,
    url: Uri,
}

/// The card of the agent at this address.
async fn find(connector: &Connector, url: &str, auth: Option<&Auth>) -> anyhow::Result<Found> {
    match fetch_as(connector, &address(url)?, "", auth).await? {
        Fetched::Card {
            card,
            document,
            url,
            ..
        } => Ok(Found {
            card: *card,
            document,
            url,
        }),
        Fetched::Unchanged => anyhow::bail!("the server at {url} says that its card is known here"),
    }
}

/// The address of an agent, as it was given.
fn address(url: &str) -> Result<CardUrl, WrongUsage> {
    CardUrl::of(url).map_err(|error| WrongUsage(format!("URL: {error}")))
}

/// A connector that goes wherever the person says who gives the command, with the certificates of this process.
///
/// # Errors
///
/// The files of TLS cannot be used.
pub fn connector() -> anyhow::Result<Connector> {
    let settings = Settings {
        allow: Network::everything().to_vec(),
        ..Settings::default()
    };
    let tls = ClientTls::of_process();
    if *tls == ClientTls::new() {
        return Ok(Connector::new(settings));
    }
    Ok(Connector::with_tls(settings, tls.config_for_any()?))
}
