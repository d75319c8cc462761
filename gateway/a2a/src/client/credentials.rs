//! Credentials as requests carry them.

use std::time::Duration;

use agenthub_outbound::{Connector, Limits, parse_url};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

use super::{
    Auth, Failure,
    auth::{Location, Secret},
    choice::{is_tls, may_have_secrets},
};
use crate::v1::{AgentCard, o_auth_flows::Flow, security_scheme::Scheme};

/// Bounds of a call of a token server.
const LIMITS: Limits = Limits {
    headers: Duration::from_secs(10),
    body: Duration::from_secs(10),
    size: 64 * 1024,
};

/// Life of a token whose server does not say.
const LIFE: Duration = Duration::from_secs(300);

/// Time before the end of a token after which another one is fetched.
const MARGIN: Duration = Duration::from_secs(30);

/// Part of a request with the credentials of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestCredential {
    Header(HeaderName, HeaderValue),
    /// A pair of the query, encoded.
    Query(String),
}

/// Credentials for one agent.
#[derive(Debug)]
pub(super) struct Credentials {
    auth: Auth,
    connector: Connector,
    /// Token server, of OAuth 2.
    token_url: Option<Uri>,
    token: Mutex<Option<Token>>,
}

#[derive(Debug)]
struct Token {
    value: Secret,
    until: Instant,
}

impl Credentials {
    /// Credentials with what the card says of them filled in.
    ///
    /// # Errors
    ///
    /// [`Failure::Credentials`]: the card does not say where a key belongs or where tokens are, or secrets must not go there.
    pub(super) fn new(
        auth: Auth,
        connector: Connector,
        card: &AgentCard,
        card_url: &Uri,
        target: &Uri,
    ) -> Result<Self, Failure> {
        may_have_secrets(target, card_url)?;
        let mut token_url = None;
        let auth = match auth {
            Auth::ApiKey {
                location,
                name,
                key,
            } => {
                let (location, name) = api_key(location, name, card)?;
                Auth::ApiKey {
                    location: Some(location),
                    name: Some(name),
                    key,
                }
            }
            Auth::ClientCredentials {
                token_url: given,
                client_id,
                secret,
                scopes,
            } => {
                let url = match &given {
                    Some(url) => parse_url(url)?,
                    None => token_url_of(card, card_url)?,
                };
                // Over TLS, an address that the caller gave needs nobody's word.
                if given.is_none() || !is_tls(&url) {
                    may_have_secrets(&url, card_url)?;
                }
                token_url = Some(url);
                Auth::ClientCredentials {
                    token_url: given,
                    client_id,
                    secret,
                    scopes,
                }
            }
            auth => auth,
        };
        Ok(Self {
            auth,
            connector,
            token_url,
            token: Mutex::default(),
        })
    }

    /// Reads the secret, which nobody is shown.
    ///
    /// # Errors
    ///
    /// It is not there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let secret = match &self.auth {
            Auth::ApiKey { key, .. } => key,
            Auth::Bearer { token } => token,
            Auth::Basic { password, .. } => password,
            Auth::ClientCredentials { secret, .. } => secret,
        };
        secret.read().map(drop)
    }

    /// The credential for the next request.
    ///
    /// # Errors
    ///
    /// A secret is not there, or the token server gives no token.
    pub(super) async fn show(&self) -> Result<RequestCredential, Failure> {
        let authorization = |value: &str| header_of(header::AUTHORIZATION, value);
        match &self.auth {
            Auth::Bearer { token } => authorization(&format!("Bearer {}", token.read()?.0)),
            Auth::Basic { user, password } => authorization(&basic(user, &password.read()?.0)),
            Auth::ClientCredentials { .. } => {
                authorization(&format!("Bearer {}", self.token().await?.0))
            }
            Auth::ApiKey {
                location,
                name,
                key,
            } => {
                let (key, name) = (key.read()?.0, name.clone().unwrap_or_default());
                match location {
                    Some(Location::Query) => Ok(RequestCredential::Query(format!(
                        "{}={}",
                        encoded(&name),
                        encoded(&key)
                    ))),
                    Some(Location::Cookie) => header_of(header::COOKIE, &format!("{name}={key}")),
                    Some(Location::Header) | None => {
                        let name = HeaderName::try_from(&name);
                        let name = name.map_err(|_| {
                            Failure::Credentials("the key's name is none of a header".to_owned())
                        })?;
                        header_of(name, &key)
                    }
                }
            }
        }
    }

    /// Forgets a token that was not accepted; false if there is nothing that another try could change.
    pub(super) async fn renew(&self) -> bool {
        self.token.lock().await.take().is_some()
    }

    /// The token, which all requests share until shortly before its end.
    async fn token(&self) -> Result<Secret, Failure> {
        let mut cached = self.token.lock().await;
        if let Some(token) = cached.as_ref().filter(|token| token.until > Instant::now()) {
            return Ok(token.value.clone());
        }
        let token = self.fetch_token().await?;
        let value = token.value.clone();
        *cached = Some(token);
        Ok(value)
    }

    async fn fetch_token(&self) -> Result<Token, Failure> {
        let (
            Auth::ClientCredentials {
                client_id,
                secret,
                scopes,
                ..
            },
            Some(url),
        ) = (&self.auth, &self.token_url)
        else {
            return Err(Failure::Credentials("they have no tokens".to_owned()));
        };
        let mut form = "grant_type=client_credentials".to_owned();
        if !scopes.is_empty() {
            form.push_str("&scope=");
            form.push_str(&encoded(&scopes.join(" ")));
        }
        // RFC 6749 §2.3.1: both are encoded as in a form before they are joined.
        let client = basic(&encoded(client_id), &encoded(&secret.read()?.0));
        let mut client = HeaderValue::try_from(client).map_err(|_| unfit())?;
        client.set_sensitive(true);
        let request = Request::post(url.clone())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, client)
            .body(Bytes::from(form))
            .map_err(|error| Failure::Credentials(error.to_string()))?;
        let asked = Instant::now();
        let reply = self.connector.request(request, LIMITS).await?;
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let (true, Some(token)) = (reply.status.is_success(), answer["access_token"].as_str())
        else {
            let error = answer["error"].as_str().unwrap_or("no token");
            return Err(Failure::Unauthorized(format!(
                "the token server answers with {}: {}",
                reply.status.as_u16(),
                error.chars().take(200).collect::<String>()
            )));
        };
        let life = answer["expires_in"]
            .as_u64()
            .map_or(LIFE, Duration::from_secs);
        // A day at most: a token may be revoked.
        let life = life.min(Duration::from_secs(86_400));
        Ok(Token {
            value: Secret(token.to_owned()),
            until: asked + life.saturating_sub(MARGIN.min(life / 2)),
        })
    }
}

/// Place and name of a key: as given, or those of the only scheme of the card that they fit.
fn api_key(
    location: Option<Location>,
    name: Option<String>,
    card: &AgentCard,
) -> Result<(Location, String), Failure> {
    if let (Some(location), Some(name)) = (location, &name) {
        return Ok((location, name.clone()));
    }
    let schemes = card.security_schemes.values();
    let known = schemes.filter_map(|scheme| match &scheme.scheme {
        Some(Scheme::ApiKeySecurityScheme(key)) => {
            Some((key.location.parse().ok()?, key.name.clone()))
        }
        _ => None,
    });
    let mut fitting: Vec<(Location, String)> = known
        .filter(|(l, n)| {
            location.is_none_or(|l2| l2 == *l) && name.as_ref().is_none_or(|n2| n2 == n)
        })
        .collect();
    match (fitting.pop(), fitting.is_empty()) {
        (Some(key), true) => Ok(key),
        _ => Err(Failure::Credentials(
            "the card does not say where the key belongs: name its place and name".to_owned(),
        )),
    }
}

/// The card's token server, if it is on the host of the card: to others the secret would be shown on the card's word alone.
fn token_url_of(card: &AgentCard, card_url: &Uri) -> Result<Uri, Failure> {
    let schemes = card.security_schemes.values();
    let url = schemes.into_iter().find_map(|scheme| match &scheme.scheme {
        Some(Scheme::Oauth2SecurityScheme(scheme)) => match scheme.flows.as_ref()?.flow.as_ref()? {
            Flow::ClientCredentials(flow) => Some(flow.token_url.clone()),
            _ => None,
        },
        _ => None,
    });
    let Some(url) = url else {
        return Err(Failure::Credentials(
            "the card names no token server: name its address".to_owned(),
        ));
    };
    let url = parse_url(&url)?;
    match url.host() == card_url.host() {
        true => Ok(url),
        false => Err(Failure::Credentials(format!(
            "the card's token server is at {}, another host than the card's: name its address if it is the right one",
            url.host().unwrap_or_default()
        ))),
    }
}

fn basic(user: &str, password: &str) -> String {
    format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("{user}:{password}"))
    )
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn unfit() -> Failure {
    Failure::Credentials("the secret has characters that no header takes".to_owned())
}

fn header_of(name: HeaderName, value: &str) -> Result<RequestCredential, Failure> {
    let mut value = HeaderValue::try_from(value).map_err(|_| unfit())?;
    value.set_sensitive(true);
    Ok(RequestCredential::Header(name, value))
}
