//! Agents elsewhere as they are added, and where they are called afterwards.

use std::{
    fs,
    process::Command,
    sync::{Arc, Mutex},
};

use agenthub_a2a::{
    CardKey,
    outside::{
        OutsideService,
        wire::{AddOutsideAgentRequest, outside_agents_server::OutsideAgents as _},
    },
    v1::TaskState,
};
use axum::{
    Json, Router,
    extract::Path,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tonic::{Code, Request};

use super::{Here, open};
use crate::{
    client::{self, Behind, done, send, state},
    elsewhere::Elsewhere,
    harness::{Stage, card, settings, soon},
};

/// An agent whose card says where it is called, which may change.
struct Moving {
    served: Elsewhere,
    place: Arc<Mutex<String>>,
    /// Address of the key by which the card says that it is signed, which it is not.
    key: Arc<Mutex<Option<String>>>,
}

impl Moving {
    /// `{host}` in a place is the server's own address.
    async fn at(place: &str) -> Self {
        let place = Arc::new(Mutex::new(place.to_owned()));
        let (shown, served) = (place.clone(), place.clone());
        let key = Arc::new(Mutex::new(None::<String>));
        let shown_key = key.clone();
        let card = async move |headers: HeaderMap| {
            let host = headers["host"].to_str().expect("text");
            let url = shown
                .lock()
                .expect("nobody panicked")
                .replace("{host}", host);
            let key = shown_key.lock().expect("nobody panicked").clone();
            let signatures = key.map(|key| {
                let header =
                    json!({"alg": "EdDSA", "kid": "k", "jku": key.replace("{host}", host)});
                let protected = URL_SAFE_NO_PAD.encode(header.to_string());
                json!({"protected": protected, "signature": URL_SAFE_NO_PAD.encode([7; 64])})
            });
            let signatures: Vec<Value> = signatures.into_iter().collect();
            Json(json!({
                "name": "Mover", "signatures": signatures, "description": "Moves", "version": "1", "capabilities": {}, "skills": [],
                "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
                "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            }))
        };
        let rpc = async move |Path(path): Path<String>, Json(request): Json<Value>| -> Response {
            let place = served.lock().expect("nobody panicked").clone();
            if !place.ends_with(&format!("/at/{path}")) {
                return (StatusCode::NOT_FOUND, "nothing is here").into_response();
            }
            let task =
                json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}});
            Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}}))
                .into_response()
        };
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/jwks.json", get(async || Json(json!({"keys": [json!({"kid": "k", "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})]}))))
            .route("/at/{path}", post(rpc));
        Self {
            served: Elsewhere::serve(router).await,
            place,
            key,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.served.address)
    }
}

#[tokio::test]
async fn an_agent_that_cannot_be_called_is_not_added() {
    let here = Here::start().await;
    let agent = Moving::at("http://10.0.0.1/at/rpc").await;
    let refused = here.add(&agent.url(), "far", json!({})).await;
    let refused = refused.expect_err("its address is private");
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    let text = refused.message();
    assert!(
        text.contains("JSONRPC cannot be called: 10.0.0.1 is not reached"),
        "{text}"
    );

    let agent = Moving::at("http://{host}/at/rpc").await;
    let absent = json!({"kind": "bearer", "token": "file:absent"});
    let refused = here.add(&agent.url(), "far", absent).await;
    let refused = refused.expect_err("there is no such secret");
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert!(refused.message().contains("absent"), "{refused:?}");
    assert!(here.list().await.is_empty());

    for id in ["../x", " ", ".", "a b", "a/b", "a\u{1b}[2J", "ä"] {
        let refused = here.add(&agent.url(), id, json!({})).await;
        let refused = refused.expect_err("that is no id");
        assert_eq!(refused.code(), Code::InvalidArgument, "{id}: {refused:?}");
        assert!(refused.message().contains("is no id"), "{refused:?}");
    }

    here.add(&agent.url(), "far", json!({}))
        .await
        .expect("nothing is left of the tries");
    here.stop().await;
}

/// spec: A2A 1.0.1 §8.4.3
#[tokio::test]
async fn the_signature_of_a_card_is_looked_at() {
    let here = Here::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is free");
    let mut settings = settings();
    let key = include_str!("../../../src/signing/p256.pem");
    settings.card_key = CardKey::read(key).ok().map(Arc::new);
    let address = listener.local_addr().expect("it has an address");
    settings.public_url = Some(format!("http://{address}"));
    let there = Stage::set(card(), settings).await;
    let _served = Elsewhere::on(listener, there.router.clone());
    let added = here.add(&client::url(address), "far", json!({})).await;
    let added = added.expect("it is added");
    let expected = format!("of http://{address}/.well-known/jwks.json");
    assert!(
        added.signature.starts_with("verified: ES256, key ")
            && added.signature.ends_with(&expected),
        "{}",
        added.signature
    );

    let agent = Moving::at("http://{host}/at/rpc").await;
    let added = here.add(&agent.url(), "bare", json!({})).await;
    assert_eq!(added.expect("it is added").signature, "not signed");
    *agent.key.lock().expect("nobody panicked") =
        Some(format!("http://{address}/.well-known/jwks.json"));
    let added = here.add(&agent.url(), "unverifiable", json!({})).await;
    let signature = added.expect("nothing is said against it").signature;
    assert!(signature.starts_with("not verifiable: "), "{signature}");
    *agent.key.lock().expect("nobody panicked") = Some("http://{host}/jwks.json".to_owned());
    let refused = here.add(&agent.url(), "forged", json!({})).await;
    let refused = refused.expect_err("its signature is another's");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(
        refused.message().contains("signature is wrong"),
        "{refused:?}"
    );
    here.stop().await;
    there.stop().await;
}

/// An agent elsewhere that tells nothing, its card included, to whoever does not show `Bearer sk-1`; what it was shown for its card.
async fn vault() -> (Elsewhere, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let shown = |headers: &HeaderMap| {
        let shown = headers.get("authorization").map(|v| v.to_str());
        shown.map_or("", |v| v.expect("text")).to_owned()
    };
    let card = async move |headers: HeaderMap| -> Response {
        let shown = shown(&headers);
        noted.lock().expect("nobody panicked").push(shown.clone());
        if shown != "Bearer sk-1" {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        let host = headers["host"].to_str().expect("text");
        Json(json!({
            "name": "Vault", "description": "Tells few", "version": "1", "capabilities": {}, "skills": [],
            "securitySchemes": {"token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
            "securityRequirements": [{"schemes": {"token": {"list": []}}}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "supportedInterfaces": [{"url": format!("http://{host}/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        }))
        .into_response()
    };
    let rpc = async move |headers: HeaderMap, Json(request): Json<Value>| -> Response {
        if shown(&headers) != "Bearer sk-1" {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        let task =
            json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}});
        Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}}))
            .into_response()
    };
    let router = Router::new()
        .route("/.well-known/agent-card.json", get(card))
        .route("/rpc", post(rpc));
    (Elsewhere::serve(router).await, seen)
}

/// spec: A2A 1.0.1 §7.4, §8.2
#[tokio::test]
async fn a_card_that_is_not_for_everybody_is_fetched_with_the_credentials_of_the_reference() {
    let mut here = Here::start().await;
    let secrets = here.folder.path().join("secrets");
    fs::create_dir(&secrets).expect("a folder");
    fs::write(secrets.join("token"), "sk-1\n").expect("it is written");
    fs::write(secrets.join("stale"), "sk-0\n").expect("it is written");
    let (served, seen) = vault().await;
    let url = format!("http://{}", served.address);
    let bearer = |file: &str| json!({"kind": "bearer", "token": format!("file:{file}")});
    for auth in [json!({}), bearer("stale")] {
        let refused = here.add(&url, "", auth.clone()).await;
        let refused = refused.expect_err("the card is not for this one");
        assert!(refused.message().contains("401"), "{auth}: {refused:?}");
    }
    seen.lock().expect("nobody panicked").clear();
    let added = here.add(&url, "", bearer("token")).await;
    assert_eq!(added.expect("it is added").agent_id, "vault");
    // Nothing is shown that was not asked for.
    assert_eq!(
        seen.lock().expect("nobody panicked")[..2],
        ["", "Bearer sk-1"]
    );
    let remote = here.remote("vault").await;
    let done = done(&remote, send("open")).await;
    assert_eq!(state(&done), TaskState::Completed);

    soon(here.outside.close()).await;
    here.until("vault", false).await;
    here.outside = open(&here.stage, here.folder.path()).await;
    here.until("vault", true).await;
    let list = fs::read_to_string(here.folder.path().join("outside-agents.json"));
    let list = list.expect("a file");
    assert!(
        list.contains("file:token") && !list.contains("sk-1"),
        "{list}"
    );
    here.stop().await;
}

#[tokio::test]
async fn an_agent_that_has_moved_is_called_where_its_card_says() {
    let here = Here::start().await;
    let agent = Moving::at("http://{host}/at/old").await;
    here.add(&agent.url(), "far", json!({}))
        .await
        .expect("it is added");
    let remote = here.remote("far").await;
    assert_eq!(
        state(&done(&remote, send("hello")).await),
        TaskState::Completed
    );
    *agent.place.lock().expect("nobody panicked") = "http://{host}/at/new".to_owned();
    assert_eq!(
        state(&done(&remote, send("hello again")).await),
        TaskState::Completed
    );
    *agent.place.lock().expect("nobody panicked") = "http://{host}/nowhere".to_owned();
    assert_eq!(
        state(&done(&remote, send("who is there")).await),
        TaskState::Failed,
        "its card leads nowhere"
    );
    here.stop().await;
}

/// The hub's process may be killed between any two steps: what the hub knows is in the list, or it could neither be added nor removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_listed_before_the_hub_knows_it() {
    let (there, here) = (Behind::start().await, Here::start().await);
    // Whoever writes the list waits here until somebody reads.
    let list = here.folder.path().join("outside-agents.json.new");
    let made = Command::new("mkfifo").arg(&list).status();
    assert!(made.expect("mkfifo is there").success());
    let request = AddOutsideAgentRequest {
        url: client::url(there.served.address),
        agent_id: "far".into(),
        auth: None,
    };
    let service = OutsideService::from(here.outside.clone());
    let adding =
        tokio::spawn(async move { service.add_outside_agent(Request::new(request)).await });
    let writing = tokio::task::spawn_blocking(move || fs::File::open(list));
    let reader = soon(writing).await.expect("no panic").expect("it is read");
    let card = "/agents/far/.well-known/agent-card.json";
    let known = here.stage.http("GET", card, &[], "").await.status;
    drop(reader);
    let added = soon(adding).await.expect("no panic");
    assert_eq!(known, 404, "the hub knows an agent that is not listed");
    // A pipe cannot be synced.
    assert_eq!(added.expect_err("no file").code(), Code::Internal);
    here.stop().await;
    there.stage.stop().await;
}
