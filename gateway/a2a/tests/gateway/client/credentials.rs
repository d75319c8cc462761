//! Credentials by reference, as servers see them.

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use agenthub_a2a::client::{
    Auth, Failure, Options,
    auth::{Location, SecretRef},
};
use axum::{
    Json, Router,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{done, remote, send};
use crate::{elsewhere::Elsewhere, harness::soon};

/// Credentials that were seen: of the agent, and of the token server.
#[derive(Default)]
struct Seen {
    agent: Mutex<Vec<String>>,
    tokens: AtomicU32,
    /// Tokens up to this one are not accepted any more.
    revoked: AtomicU32,
}

async fn server(schemes: Value) -> (Elsewhere, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let (asked, fetched) = (seen.clone(), seen.clone());
    let card = async move |headers: HeaderMap| {
        let host = headers["host"].to_str().expect("text").to_owned();
        let schemes = schemes.to_string().replace("HOST", &host);
        let schemes: Value = serde_json::from_str(&schemes).expect("JSON");
        Json(json!({
            "name": "Vault", "description": "d", "version": "1", "capabilities": {}, "securitySchemes": schemes,
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
            "supportedInterfaces": [{"url": format!("http://{host}/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        }))
    };
    let rpc = async move |uri: Uri, headers: HeaderMap, Json(request): Json<Value>| -> Response {
        let header = |name: &str| {
            let value = headers.get(name).and_then(|v| v.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let shown = [
            header("authorization"),
            header("x-key"),
            header("cookie"),
            uri.query().unwrap_or_default().to_owned(),
        ];
        let shown = shown.join(" ").trim().to_owned();
        let number = shown
            .strip_prefix("Bearer token-")
            .and_then(|n| n.parse::<u32>().ok());
        asked.agent.lock().expect("nobody panicked").push(shown);
        if number.is_some_and(|n| n <= asked.revoked.load(Ordering::SeqCst)) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        let task =
            json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}});
        Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}}))
            .into_response()
    };
    let token = async move |headers: HeaderMap, form: String| {
        // RFC 6749 §2.3.1: "me" and "pass word", encoded as in a form.
        assert_eq!(headers["authorization"], "Basic bWU6cGFzcyUyMHdvcmQ=");
        assert_eq!(form, "grant_type=client_credentials&scope=read%20write");
        let number = fetched.tokens.fetch_add(1, Ordering::SeqCst) + 1;
        Json(
            json!({"access_token": format!("token-{number}"), "token_type": "Bearer", "expires_in": 3600}),
        )
    };
    let router = Router::new()
        .route("/.well-known/agent-card.json", get(card))
        .route("/rpc", post(rpc))
        .route("/token", post(token));
    (Elsewhere::serve(router).await, seen)
}

fn secret(folder: &TempDir, text: &str) -> SecretRef {
    let path = folder.path().join("secret");
    fs::write(&path, format!("{text}\n")).expect("it is written");
    SecretRef::File(path)
}

fn with(auth: Auth) -> Options {
    Options {
        auth: Some(auth),
        ..Options::default()
    }
}

#[tokio::test]
async fn each_kind_is_shown_where_it_belongs() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = json!({"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}});
    let (server, seen) = server(key).await;
    let url = format!("http://{}", server.address);
    let api_key = |location, name: Option<&str>| Auth::ApiKey {
        location,
        name: name.map(str::to_owned),
        key: secret(&folder, "a&b"),
    };
    for (auth, expected) in [
        (
            Auth::Bearer {
                token: secret(&folder, "a&b"),
            },
            "Bearer a&b",
        ),
        (
            Auth::Basic {
                user: "me".into(),
                password: secret(&folder, "a&b"),
            },
            "Basic bWU6YSZi",
        ),
        (api_key(None, None), "a&b"),
        (api_key(Some(Location::Cookie), Some("k")), "k=a&b"),
        (api_key(Some(Location::Query), Some("k")), "k=a%26b"),
    ] {
        let shown = format!("{auth:?}");
        let remote = remote(&url, with(auth)).await.expect("it can be called");
        done(&remote, send("hi")).await;
        let last = seen.agent.lock().expect("nobody panicked").pop();
        assert_eq!(last.as_deref(), Some(expected), "{shown}");
        let shown = format!("{remote:?}");
        assert!(!shown.contains("a&b"), "{shown}");
    }
    let elsewhere = api_key(Some(Location::Query), None);
    let failure = remote(&url, with(elsewhere))
        .await
        .expect_err("the card has none there");
    assert!(matches!(failure, Failure::Credentials(_)), "{failure:?}");
}

#[tokio::test]
async fn a_token_is_fetched_once_and_again_when_it_is_not_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let flow = json!({"clientCredentials": {"tokenUrl": "http://HOST/token", "scopes": {}}});
    let schemes = json!({"web": {"oauth2SecurityScheme": {"flows": flow}}});
    let (server, seen) = server(schemes).await;
    let auth = Auth::ClientCredentials {
        client_id: "me".into(),
        secret: secret(&folder, "pass word"),
        token_url: None,
        scopes: vec!["read".into(), "write".into()],
    };
    let remote = remote(&format!("http://{}", server.address), with(auth)).await;
    let remote = remote.expect("it can be called");
    for _ in 0..3 {
        done(&remote, send("hi")).await;
    }
    assert_eq!(seen.tokens.load(Ordering::SeqCst), 1);
    seen.revoked.store(1, Ordering::SeqCst);
    done(&remote, send("hi")).await;
    assert_eq!(seen.tokens.load(Ordering::SeqCst), 2);
    let last = seen.agent.lock().expect("nobody panicked").pop();
    assert_eq!(last.as_deref(), Some("Bearer token-2"));
    // Whatever is not accepted twice is not tried for ever.
    seen.revoked.store(u32::MAX, Ordering::SeqCst);
    let failure = soon(remote.send_message(send("hi"))).await;
    let failure = failure.expect_err("it is revoked at once");
    assert!(matches!(failure, Failure::Unauthorized(_)), "{failure:?}");
}

#[tokio::test]
async fn a_secret_is_not_shown_to_a_token_server_on_the_cards_word_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let flow =
        json!({"clientCredentials": {"tokenUrl": "https://thief.example/token", "scopes": {}}});
    let schemes = json!({"web": {"oauth2SecurityScheme": {"flows": flow}}});
    let (server, _) = server(schemes).await;
    let auth = |token_url: Option<&str>| Auth::ClientCredentials {
        client_id: "me".into(),
        secret: secret(&folder, "x"),
        token_url: token_url.map(str::to_owned),
        scopes: Vec::new(),
    };
    let url = format!("http://{}", server.address);
    let failure = remote(&url, with(auth(None)))
        .await
        .expect_err("another host");
    assert!(failure.to_string().contains("thief.example"), "{failure}");
    let named = auth(Some("https://thief.example/token"));
    assert!(remote(&url, with(named)).await.is_ok());
}
