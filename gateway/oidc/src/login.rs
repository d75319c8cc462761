//! Logging in with an issuer: the authorization code flow (OpenID Connect Core 1.0, section 3.1) with PKCE.

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use agenthub_access::{Admitted, Denied, Identities, IssuerSettings};
use agenthub_outbound::Connector;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use crate::{
    discovery::discover,
    fetching::{Error, call, shown},
    pending::{Way, Ways, challenge, random},
};

/// People who log in with issuers elsewhere. Clones are the same.
#[derive(Clone, Debug)]
pub struct Logins(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    identities: Identities,
    connector: Connector,
    ways: Mutex<Ways>,
}

/// The way to an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// URL to which the browser is sent.
    pub location: String,
    /// Secret that the browser keeps and shows when it comes back.
    pub traveller: String,
}

/// Parameters that a browser brings from an issuer.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// The state that it was sent with.
    pub state: &'a str,
    /// The code that a token is had for.
    pub code: &'a str,
    /// The reason why there is none.
    pub error: &'a str,
    /// The issuer, if it says so (RFC 9207).
    pub issuer: Option<&'a str>,
    /// The browser's binding: the value of the cookie that it got when it was sent.
    pub traveller: &'a str,
}

/// Somebody who has logged in.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The caller.
    pub admitted: Admitted,
    /// The page that the browser asked for.
    pub next: String,
}

/// Reasons why somebody is not logged in.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// No such issuer, or not for people.
    #[error("nobody logs in with that issuer here")]
    NoIssuer,
    /// It came from nowhere, too late, a second time, or in another browser.
    #[error(
        "the answer of the issuer is to no question of this browser, or comes too late: log in again"
    )]
    NoQuestion,
    /// The issuer says no.
    #[error("the issuer says: {0}")]
    Refused(String),
    /// It cannot be asked, or answers with something else.
    #[error("the issuer cannot be asked: {0}")]
    Issuer(#[from] Error),
    /// The secret cannot be read.
    #[error("the file of client_secret_file cannot be read: {0}")]
    Secret(std::io::Error),
    /// Its claims about the person are not accepted.
    #[error("{0}")]
    Denied(Denied),
    /// There is no randomness.
    #[error("the system gives no random bytes")]
    Randomness,
}

impl Logins {
    /// Log-ins with the issuers of these identities that have a `client_id`.
    pub fn new(identities: Identities, connector: Connector) -> Self {
        Self(Arc::new(Inner {
            identities,
            connector,
            ways: Mutex::default(),
        }))
    }

    /// The names of those issuers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let settings = self.0.identities.issuers().iter().map(|i| i.settings());
        settings
            .filter(|settings| settings.client_id.is_some())
            .map(|settings| settings.name.as_str())
    }

    fn settings(&self, name: &str) -> Result<(&IssuerSettings, &str), LoginError> {
        let mut settings = self.0.identities.issuers().iter().map(|i| i.settings());
        let settings = settings.find(|settings| settings.name == name);
        let settings = settings.ok_or(LoginError::NoIssuer)?;
        let client = settings.client_id.as_deref();
        Ok((settings, client.ok_or(LoginError::NoIssuer)?))
    }

    /// Sends somebody to an issuer, who is led `back`, and wants to go to `next` then.
    ///
    /// # Errors
    ///
    /// The issuer cannot be asked where that is.
    pub async fn begin(&self, name: &str, back: &str, next: &str) -> Result<Begun, LoginError> {
        let (settings, client) = self.settings(name)?;
        let endpoints = discover(&self.0.connector, &settings.issuer).await?;
        let authorization = endpoints.authorization.ok_or(LoginError::NoIssuer)?;
        let random = || random().map_err(|_| LoginError::Randomness);
        let (state, traveller) = (random()?, random()?);
        let way = Way {
            issuer: name.to_owned(),
            nonce: random()?,
            verifier: random()?,
            traveller: traveller.clone(),
            back: back.to_owned(),
            next: next.to_owned(),
        };
        let mut location = Url::parse(&authorization.to_string()).map_err(|error| {
            LoginError::Issuer(Error::Answer {
                url: shown(&authorization),
                why: error.to_string(),
            })
        })?;
        location
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", client)
            .append_pair("redirect_uri", back)
            .append_pair("scope", &settings.scopes.join(" "))
            .append_pair("state", &state)
            .append_pair("nonce", &way.nonce)
            .append_pair("code_challenge", &challenge(&way.verifier))
            .append_pair("code_challenge_method", "S256");
        self.ways().add(state, way, Instant::now());
        Ok(Begun {
            location: location.into(),
            traveller,
        })
    }

    /// Takes what a browser brings back.
    ///
    /// # Errors
    ///
    /// It is no answer to a question of that browser, or the issuer says no.
    pub async fn finish(&self, answer: Answer<'_>) -> Result<Arrived, LoginError> {
        let way = self
            .ways()
            .take(answer.state, answer.traveller, Instant::now());
        let way = way.ok_or(LoginError::NoQuestion)?;
        let (settings, client) = self.settings(&way.issuer)?;
        if answer
            .issuer
            .is_some_and(|issuer| issuer != settings.issuer)
        {
            return Err(LoginError::NoQuestion);
        }
        if answer.code.is_empty() {
            let why = answer.error.chars().take(100).flat_map(char::escape_debug);
            return Err(LoginError::Refused(why.collect()));
        }
        let token = self.redeem(settings, client, &way, answer.code).await?;
        let identities = &self.0.identities;
        let admitted = identities.logged_in(&way.issuer, &token, &way.nonce);
        Ok(Arrived {
            admitted: admitted.map_err(LoginError::Denied)?,
            next: way.next,
        })
    }

    /// Has a code made a token about the person.
    async fn redeem(
        &self,
        settings: &IssuerSettings,
        client: &str,
        way: &Way,
        code: &str,
    ) -> Result<String, LoginError> {
        #[derive(Deserialize)]
        struct Tokens {
            id_token: String,
        }
        let endpoints = discover(&self.0.connector, &settings.issuer).await?;
        let url = endpoints.token.ok_or(LoginError::NoIssuer)?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &way.back)
            .append_pair("code_verifier", &way.verifier)
            .append_pair("client_id", client)
            .finish();
        let mut request = Request::post(url.clone())
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(file) = &settings.client_secret_file {
            let secret = fs::read_to_string(file).map_err(LoginError::Secret)?;
            request = request.header(header::AUTHORIZATION, basic(client, secret.trim()));
        }
        let body = Bytes::from(form);
        let answer = call(&self.0.connector, &url, request.body(body)).await?;
        let tokens: Tokens = serde_json::from_slice(&answer).map_err(|_| Error::Answer {
            url: shown(&url),
            why: "the answer has no id_token".to_owned(),
        })?;
        Ok(tokens.id_token)
    }

    fn ways(&self) -> std::sync::MutexGuard<'_, Ways> {
        self.0.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Id and secret as a header (RFC 6749, section 2.3.1).
fn basic(client: &str, secret: &str) -> HeaderValue {
    let coded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = STANDARD.encode(format!("{}:{}", coded(client), coded(secret)));
    let mut value = HeaderValue::try_from(format!("Basic {both}")).expect("printable characters");
    value.set_sensitive(true);
    value
}
