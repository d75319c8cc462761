//! Agents elsewhere that break off, or are started anew.

use std::sync::{Arc, Mutex};

use agenthub_a2a::v1::{TaskState, stream_response::Payload};
use axum::{
    Json, Router,
    http::HeaderMap,
    routing::{get, post},
};
use serde_json::{Value, json};

use super::Here;
use crate::{
    client::{all, last_state, send},
    elsewhere::Elsewhere,
};

/// An agent elsewhere that takes each message and breaks off; the number of those that came.
async fn breaking() -> (Elsewhere, Arc<Mutex<u32>>) {
    let came = Arc::new(Mutex::new(0));
    let counted = came.clone();
    let card = async |headers: HeaderMap| {
        let host = headers["host"].to_str().expect("text").to_owned();
        Json(json!({
            "name": "Breaking", "description": "Breaks off", "version": "1", "capabilities": {"streaming": true}, "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "supportedInterfaces": [{"url": format!("http://{host}/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        }))
    };
    let rpc = async move |Json(request): Json<Value>| {
        *counted.lock().expect("no panic") +=
            u32::from(request["method"] == "SendStreamingMessage");
        ([("content-type", "text/event-stream")], "")
    };
    let router = Router::new()
        .route("/.well-known/agent-card.json", get(card))
        .route("/rpc", post(rpc));
    (Elsewhere::serve(router).await, came)
}

/// It may have acted on each message.
#[tokio::test]
async fn an_agent_that_breaks_off_again_and_again_is_given_up() {
    let (served, came) = breaking().await;
    let here = Here::start().await;
    let url = format!("http://{}", served.address);
    here.add(&url, "far", json!({})).await.expect("it is added");
    let remote = here.remote("far").await;
    let shown = all(remote.send_streaming_message(send("hi"))).await;
    assert_eq!(last_state(&shown), TaskState::Failed, "{shown:?}");
    let is_told = shown.iter().any(|payload| match payload {
        Payload::StatusUpdate(update) => {
            let status = update.status.clone().unwrap_or_default();
            let words = format!("{:?}", status.message);
            status.state() == TaskState::Working && words.contains("it is asked again")
        }
        _ => false,
    });
    assert!(is_told, "{shown:?}");
    assert_eq!(*came.lock().expect("no panic"), 8);
    here.stop().await;
}
