//! Cards of agents elsewhere: found, read and checked.

use std::time::Duration;

use agenthub_outbound::{Connector, Limits, parse_url};
use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use serde_json::Value;

use super::{
    Auth, Failure,
    choice::choose,
    credentials::{Credentials, RequestCredential},
    failure, old_card,
};
use crate::{
    json::{from_json, parse},
    v1,
    version::VERSION_HEADER,
};

/// Paths of cards (specification §8.2), and those until 0.3.
const PATHS: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// Bounds of a card.
const LIMITS: Limits = Limits {
    headers: Duration::from_secs(10),
    body: Duration::from_secs(10),
    size: 1024 * 1024,
};

/// The addresses at which the card of an agent is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardUrl(Vec<Uri>);

impl CardUrl {
    /// Reads the address of an agent, or of its card, which ends with `.json`.
    ///
    /// # Errors
    ///
    /// [`Failure::Outbound`] for what is no address.
    pub fn of(text: &str) -> Result<Self, Failure> {
        let url = parse_url(text.trim())?;
        if url.path().ends_with(".json") {
            return Ok(Self(vec![url]));
        }
        let base = url.to_string();
        let base = base.split('?').next().unwrap_or_default();
        let base = base.trim_end_matches('/');
        let all = PATHS.iter().map(|path| parse_url(&format!("{base}{path}")));
        Ok(Self(all.collect::<Result<_, _>>()?))
    }
}

/// A card as it was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Fetched {
    /// The card is the one that has this `ETag`.
    Unchanged,
    /// A card.
    Card {
        /// The card, as 1.0 writes it.
        card: Box<v1::AgentCard>,
        /// The card as it came.
        document: Value,
        /// Its address.
        url: Uri,
        /// Its `ETag`; empty if it has none.
        etag: String,
    },
}

/// Fetches a card unless it still has this `ETag`, and checks that the agent can be called.
///
/// # Errors
///
/// [`Failure::Card`] for what is no card; those of the call.
pub async fn fetch(connector: &Connector, url: &CardUrl, etag: &str) -> Result<Fetched, Failure> {
    read_at(connector, url, etag, None).await
}

/// The same with credentials, where the card is not for everybody. They are shown to nobody who does not ask for them.
///
/// # Errors
///
/// Those of [`fetch`], and [`Failure::Credentials`].
pub async fn fetch_as(
    connector: &Connector,
    url: &CardUrl,
    etag: &str,
    auth: Option<&Auth>,
) -> Result<Fetched, Failure> {
    match (fetch(connector, url, etag).await, auth) {
        (Err(Failure::Unauthorized(_)), Some(auth)) => {
            read_at(connector, url, etag, Some(auth)).await
        }
        (fetched, _) => fetched,
    }
}

async fn read_at(
    connector: &Connector,
    url: &CardUrl,
    etag: &str,
    auth: Option<&Auth>,
) -> Result<Fetched, Failure> {
    let mut not_found = Vec::new();
    for url in &url.0 {
        let mut target = url.clone();
        let mut header = None;
        if let Some(auth) = auth {
            let nothing = v1::AgentCard::default();
            let of = Credentials::new(auth.clone(), connector.clone(), &nothing, url, url)?;
            match of.show().await? {
                RequestCredential::Header(name, value) => header = Some((name, value)),
                RequestCredential::Query(pair) => target = with_query(url, &pair)?,
            }
        }
        let mut request = Request::get(target)
            .header(header::ACCEPT, "application/json")
            .header(VERSION_HEADER, "1.0");
        if !etag.is_empty() {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(Bytes::new());
        let request = request.map_err(|error| Failure::Card(error.to_string()))?;
        let reply = connector.request(request, LIMITS).await?;
        match reply.status {
            StatusCode::NOT_MODIFIED if !etag.is_empty() => return Ok(Fetched::Unchanged),
            StatusCode::OK => {
                let etag = reply.headers.get(header::ETAG);
                let etag = etag.and_then(|tag| tag.to_str().ok()).unwrap_or_default();
                let (card, document) = read(&reply.body)?;
                choose(&card, url, None)?;
                return Ok(Fetched::Card {
                    card: Box::new(card),
                    document,
                    url: url.clone(),
                    etag: etag.to_owned(),
                });
            }
            StatusCode::NOT_FOUND => not_found.push(url),
            status if status.is_redirection() => {
                return Err(Failure::Card(format!(
                    "there is no card at {}, but a redirect ({status}), which is not followed: name the address that it leads to",
                    shown(url)
                )));
            }
            status => return Err(failure::of_http(status.as_u16(), &Value::Null)),
        }
    }
    let places = not_found.into_iter().map(shown).collect::<Vec<_>>();
    Err(Failure::Card(format!(
        "there is no card at {}: name the agent's address, or that of its card",
        places.join(" or ")
    )))
}

/// An address with a further pair in its query.
fn with_query(url: &Uri, pair: &str) -> Result<Uri, Failure> {
    let joint = if url.query().is_some() { '&' } else { '?' };
    Ok(parse_url(&format!("{url}{joint}{pair}"))?)
}

/// The address without what may be a key.
fn shown(url: &Uri) -> String {
    url.to_string()
        .split('?')
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn wrong(why: String) -> Failure {
    Failure::Card(format!("this is no card of A2A: {why}"))
}

/// Reads a card, and gives it as it came, too.
fn read(document: &[u8]) -> Result<(v1::AgentCard, Value), Failure> {
    let json = parse(document).map_err(|malformed| wrong(malformed.description))?;
    Ok((of(json.clone())?, json))
}

/// The card that a document of 1.0 or 0.3 is.
pub(super) fn of(json: Value) -> Result<v1::AgentCard, Failure> {
    if !json.is_object() {
        return Err(wrong("it is no object".to_owned()));
    }
    let is_one = json["supportedInterfaces"]
        .as_array()
        .is_some_and(|all| !all.is_empty() || json["url"].is_null());
    let json = match is_one {
        true => json,
        false => old_card::to_one(json),
    };
    let card: v1::AgentCard = from_json(json).map_err(|malformed| wrong(malformed.to_string()))?;
    match card.name.trim() {
        "" => Err(wrong("it has no name".to_owned())),
        _ => Ok(card),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: A2A 1.0.1 §8.2
    #[test]
    fn a_card_is_looked_for_below_the_address_of_its_agent() {
        let of = |text: &str| {
            let url = CardUrl::of(text).expect(text);
            url.0.iter().map(Uri::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            of("http://a.example/agents/x/"),
            [
                "http://a.example/agents/x/.well-known/agent-card.json",
                "http://a.example/agents/x/.well-known/agent.json"
            ]
        );
        assert_eq!(
            of("https://a.example?x=1")[0],
            "https://a.example/.well-known/agent-card.json"
        );
        assert_eq!(
            of("https://a.example/my.json"),
            ["https://a.example/my.json"]
        );
        assert!(CardUrl::of("a.example").is_err());
    }

    #[test]
    fn what_is_no_card_is_told_so() {
        let why = |text: &str| read(text.as_bytes()).expect_err(text).to_string();
        assert!(why("<html>").contains("no JSON"));
        assert!(why("[]").contains("no object"));
        assert!(why("{\"url\": \"http://a\"}").contains("no name"));
        assert!(why("{\"name\": 5, \"url\": \"http://a\"}").contains("name: "));
        for capabilities in ["\"x\"", "[]", "5"] {
            let card = format!(
                r#"{{"name": "n", "url": "http://a", "capabilities": {capabilities}, "supportsAuthenticatedExtendedCard": true}}"#
            );
            assert!(why(&card).contains("capabilities: "), "{}", why(&card));
        }
    }

    #[test]
    fn a_card_of_both_versions_is_one_of_the_later() {
        let card = read(
            br#"{"name": "n", "url": "http://old/", "protocolVersion": "0.3.0", "supportedInterfaces":
                [{"url": "http://a/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}"#,
        );
        let (card, _) = card.expect("a card");
        assert_eq!(card.supported_interfaces[0].url, "http://a/");
    }
}
