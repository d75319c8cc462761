//! An issuer that serves HTTP on loopback, for tests.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_access::testing::{IssuerKey, claims, key_set};
use axum::{
    Form, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet, time::sleep};
use url::form_urlencoded;

use crate::pending::challenge;

/// An issuer. Dropping it ends it.
#[derive(Debug)]
pub struct TestIssuer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

/// Answers of an issuer.
#[derive(Debug)]
struct Shared {
    issuer: String,
    state: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    keys: Value,
    /// Instead of the keys.
    body: Option<String>,
    delay: Duration,
    fetches: usize,
    discoveries: usize,
    /// Instead of its own name, in the discovery document.
    named: Option<String>,
    client: Option<TestClient>,
    codes: Vec<Code>,
}

/// A code that was given out.
#[derive(Debug, Default)]
struct Code {
    challenge: String,
    nonce: String,
    back: String,
}

impl TestIssuer {
    /// An issuer with this key.
    ///
    /// # Panics
    ///
    /// Panics if there is no port.
    pub async fn start(key: &IssuerKey) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self::on(listener, key)
    }

    /// An issuer on this port.
    ///
    /// # Panics
    ///
    /// Panics if it is no port.
    pub fn on(listener: TcpListener, key: &IssuerKey) -> Self {
        let address = listener.local_addr().expect("a port");
        let shared = Arc::new(Shared {
            issuer: format!("http://{address}"),
            state: Mutex::new(Answers {
                keys: key_set(&[key]),
                ..Answers::default()
            }),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(Arc::clone(&shared));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self {
            address,
            shared,
            _serving: serving,
        }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its name, as its tokens have it in `iss`.
    pub fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    /// Claims of a token for this audience, with these besides or instead.
    pub fn claims(&self, audience: &str, others: &Value) -> Value {
        claims(self.issuer(), audience, others)
    }

    /// Publishes these keys from now on.
    pub fn set_keys(&self, keys: &[&IssuerKey]) {
        self.shared.with(|answers| answers.keys = key_set(keys));
    }

    /// Answers with this instead of keys.
    pub fn answer_with(&self, body: Option<String>) {
        self.shared.with(|answers| answers.body = body);
    }

    /// Takes this long for its keys.
    pub fn delay(&self, delay: Duration) {
        self.shared.with(|answers| answers.delay = delay);
    }

    /// Has its discovery document name another issuer.
    pub fn name(&self, issuer: &str) {
        self.shared
            .with(|answers| answers.named = Some(issuer.to_owned()));
    }

    /// The number of times that its keys were fetched.
    pub fn fetches(&self) -> usize {
        self.shared.with(|answers| answers.fetches)
    }

    /// The number of times that its discovery document was fetched.
    pub fn discoveries(&self) -> usize {
        self.shared.with(|answers| answers.discoveries)
    }
}

impl Shared {
    fn with<T>(&self, change: impl FnOnce(&mut Answers) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn discovery(State(shared): State<Arc<Shared>>) -> Response {
    let issuer = &shared.issuer;
    let named = shared.with(|answers| {
        answers.discoveries += 1;
        answers.named.clone()
    });
    axum::Json(json!({
        "issuer": named.as_ref().unwrap_or(issuer),
        "jwks_uri": format!("{issuer}/keys"),
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
    }))
    .into_response()
}

async fn keys(State(shared): State<Arc<Shared>>) -> Response {
    let (delay, body) = shared.with(|answers| {
        answers.fetches += 1;
        let keys = answers.keys.to_string();
        (answers.delay, answers.body.clone().unwrap_or(keys))
    });
    sleep(delay).await;
    body.into_response()
}

/// The client that people log in with, at an issuer for tests.
#[derive(Clone, Debug)]
pub struct TestClient {
    /// Signs tokens about people.
    pub key: Arc<IssuerKey>,
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: Option<String>,
    /// Claims about the person besides those of everybody.
    pub claims: Value,
}

impl TestIssuer {
    /// Has people log in with this client. Everybody who comes is let in at once.
    pub fn set_client(&self, client: TestClient) {
        self.shared.with(|answers| answers.client = Some(client));
    }
}

#[derive(Debug, Deserialize)]
struct Asked {
    response_type: String,
    client_id: String,
    redirect_uri: String,
    scope: String,
    state: String,
    nonce: String,
    code_challenge: String,
    code_challenge_method: String,
}

/// Leads back at once, with a code.
async fn authorize(State(shared): State<Arc<Shared>>, Query(asked): Query<Asked>) -> Response {
    let is_right = asked.response_type == "code"
        && asked.scope.split(' ').any(|scope| scope == "openid")
        && asked.code_challenge_method == "S256"
        && shared.with(|a| a.client.as_ref().is_some_and(|c| c.id == asked.client_id));
    if !is_right {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let code = shared.with(|answers| {
        answers.codes.push(Code {
            challenge: asked.code_challenge,
            nonce: asked.nonce,
            back: asked.redirect_uri.clone(),
        });
        answers.codes.len() - 1
    });
    let issuer = form_urlencoded::byte_serialize(shared.issuer.as_bytes()).collect::<String>();
    let (back, state) = (asked.redirect_uri, asked.state);
    Redirect::to(&format!("{back}?code={code}&state={state}&iss={issuer}")).into_response()
}

#[derive(Debug, Deserialize)]
struct Redeeming {
    grant_type: String,
    code: usize,
    redirect_uri: String,
    code_verifier: String,
    client_id: String,
}

/// Makes a token of a code, once, for who has the verifier and the secret.
async fn token(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Form(form): Form<Redeeming>,
) -> Response {
    let taken = shared.with(|answers| {
        let code = answers.codes.get_mut(form.code).map(std::mem::take);
        code.zip(answers.client.clone())
    });
    let Some((code, client)) = taken else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let given = headers.get(header::AUTHORIZATION);
    let is_known = client.secret.as_ref().is_none_or(|secret| {
        let both = STANDARD.encode(format!("{}:{secret}", client.id));
        given.is_some_and(|given| given.as_bytes() == format!("Basic {both}").as_bytes())
    });
    let is_right = form.grant_type == "authorization_code"
        && form.redirect_uri == code.back
        && form.client_id == client.id
        && challenge(&form.code_verifier) == code.challenge;
    if !is_known || !is_right {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let mut claims = claims(&shared.issuer, &client.id, &client.claims);
    if client.claims.get("nonce").is_none() {
        claims["nonce"] = json!(code.nonce);
    }
    axum::Json(json!({"token_type": "Bearer", "id_token": client.key.sign(&claims)}))
        .into_response()
}
