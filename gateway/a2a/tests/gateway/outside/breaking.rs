//! Agents elsewhere that break off, or are started anew.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_a2a::v1::{GetTaskRequest, TaskState, stream_response::Payload};
use axum::{
    Json, Router,
    http::HeaderMap,
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Here;
use crate::{
    client::{self, Behind, all, last_state, send, state, task_id},
    elsewhere::{Elsewhere, Line},
    harness::{message, soon},
};

/// An agent elsewhere that takes each message and breaks off; the requests that came.
async fn breaking() -> (Elsewhere, Arc<Mutex<Vec<Value>>>) {
    let came = Arc::new(Mutex::new(Vec::new()));
    let noted = came.clone();
    let card = async |headers: HeaderMap| {
        let host = headers["host"].to_str().expect("text").to_owned();
        Json(json!({
            "name": "Breaking", "description": "Breaks off", "version": "1", "capabilities": {"streaming": true}, "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "supportedInterfaces": [{"url": format!("http://{host}/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        }))
    };
    let rpc = async move |Json(request): Json<Value>| {
        if request["method"] == "SendStreamingMessage" {
            noted.lock().expect("no panic").push(request);
        }
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
    let came = came.lock().expect("no panic").clone();
    assert_eq!(came.len(), 8);
    // Hubs that have each other as agents elsewhere do not hand work on for ever.
    let metadata = &came[0]["params"]["message"]["metadata"];
    assert_eq!(metadata["urn:agenthub:hops"], 1, "{metadata}");
    let mut far_handed = message("hi");
    far_handed["message"]["metadata"] = json!({"urn:agenthub:hops": 17});
    assert_eq!(here.stage.code("SendMessage", far_handed).await, -32602);
    here.stop().await;
}

/// The agent's task waits for an answer, and the agent is started anew without it.
#[tokio::test]
async fn a_task_that_its_agent_has_lost_fails_with_that_reason() {
    let (there, other, here) = (
        Behind::start().await,
        Behind::start().await,
        Here::start().await,
    );
    let line = Line::to(there.served.address).await;
    let place = client::url(line.address);
    here.add(&place, "far", json!({}))
        .await
        .expect("it is added");
    let remote = here.remote("far").await;
    let asked = all(remote.send_streaming_message(send("ask"))).await;
    assert_eq!(last_state(&asked), TaskState::InputRequired);
    line.lead_to(other.served.address);
    let ended = async {
        loop {
            let get = GetTaskRequest {
                id: task_id(&asked),
                ..Default::default()
            };
            let task = remote.get_task(get).await.expect("it is known");
            if state(&task) == TaskState::Failed {
                return task;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let task = soon(ended).await;
    let last = format!("{:?}", task.status);
    assert!(last.contains("does not know the task any more"), "{last}");
    here.stop().await;
    there.stage.stop().await;
    other.stage.stop().await;
}
