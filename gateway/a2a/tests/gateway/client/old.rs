//! A server of A2A 0.3, as its specification shows requests and answers.

use std::sync::{Arc, Mutex};

use agenthub_a2a::{client::Options, v1::stream_response::Payload};
use axum::{
    Json, Router,
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use super::{all, done, last_state, remote, send, state};
use crate::{elsewhere::Elsewhere, harness::soon};
use agenthub_a2a::v1::{CancelTaskRequest, GetTaskRequest, TaskState};

/// Requests as they came.
type Seen = Arc<Mutex<Vec<Value>>>;

fn task(state: &str) -> Value {
    json!({
        "kind": "task", "id": "363422be", "contextId": "c295ea44", "status": {"state": state, "timestamp": "2024-03-15T11:00:00Z"},
        "artifacts": [{"artifactId": "9b6934dd", "name": "joke", "parts": [{"kind": "text", "text": "Why did the chicken"}]}],
        "history": [], "metadata": {},
    })
}

fn answer(request: &Value) -> Response {
    let result = |result: Value| {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        answer
    };
    match request["method"].as_str() {
        Some("message/send") => Json(result(task("completed"))).into_response(),
        Some("tasks/get") => Json(result(task("input-required"))).into_response(),
        Some("tasks/cancel") => {
            let error = json!({"code": -32002, "message": "Task cannot be canceled"});
            Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).into_response()
        }
        Some("message/stream") => {
            let events = [
                task("submitted"),
                json!({"kind": "artifact-update", "taskId": "363422be", "contextId": "c295ea44", "append": false, "lastChunk": true,
                    "artifact": {"artifactId": "9b6934dd", "parts": [{"kind": "text", "text": "crossed"}]}}),
                json!({"kind": "status-update", "taskId": "363422be", "contextId": "c295ea44", "final": true,
                    "status": {"state": "completed"}}),
            ];
            let body: String = events
                .into_iter()
                .map(|event| format!("data: {}\r\n\r\n", result(event)))
                .collect();
            ([("content-type", "text/event-stream")], body).into_response()
        }
        method => panic!("{method:?}"),
    }
}

async fn server() -> (Elsewhere, Seen) {
    let seen = Seen::default();
    let asked = seen.clone();
    let rpc = async move |headers: HeaderMap, Json(request): Json<Value>| {
        let mut noted = request.clone();
        noted["version"] = headers["a2a-version"].to_str().expect("text").into();
        asked.lock().expect("nobody panicked").push(noted);
        answer(&request)
    };
    let card = async |headers: HeaderMap| {
        let host = headers["host"].to_str().expect("text").to_owned();
        Json(json!({
            "protocolVersion": "0.3.0", "name": "Joker", "description": "Tells jokes", "version": "1.0.0",
            "url": format!("http://{host}/a2a"), "preferredTransport": "JSONRPC",
            "capabilities": {"streaming": true, "pushNotifications": false},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "joke", "name": "Joke", "description": "Tells one", "tags": ["fun"]}],
        }))
    };
    let router = Router::new()
        .route("/.well-known/agent.json", get(card))
        .route("/a2a", post(rpc));
    (Elsewhere::serve(router).await, seen)
}

/// spec: A2A 0.3.0 §7, §9
#[tokio::test]
async fn a_server_of_0_3_is_spoken_to_as_it_speaks() {
    let (server, seen) = server().await;
    let remote = remote(&format!("http://{}", server.address), Options::default()).await;
    let remote = remote.expect("a card of 0.3");
    assert_eq!(remote.card().skills[0].id, "joke");

    let told = done(&remote, send("tell me a joke")).await;
    assert_eq!(
        (told.id.as_str(), state(&told)),
        ("363422be", TaskState::Completed)
    );
    assert_eq!(told.artifacts[0].parts.len(), 1);

    let events = all(remote.send_streaming_message(send("tell me a joke"))).await;
    assert!(matches!(
        &events[..],
        [
            Payload::Task(_),
            Payload::ArtifactUpdate(_),
            Payload::StatusUpdate(_)
        ]
    ));
    assert_eq!(last_state(&events), TaskState::Completed);

    let get = GetTaskRequest {
        id: "363422be".into(),
        history_length: Some(3),
        ..Default::default()
    };
    let got = soon(remote.get_task(get)).await.expect("a task");
    assert_eq!(state(&got), TaskState::InputRequired);
    let cancel = CancelTaskRequest {
        id: "363422be".into(),
        ..Default::default()
    };
    let failure = soon(remote.cancel_task(cancel))
        .await
        .expect_err("it has ended");
    assert!(
        failure.is(agenthub_a2a::error::Kind::TaskNotCancelable),
        "{failure:?}"
    );

    let seen = seen.lock().expect("nobody panicked").clone();
    assert!(seen.iter().all(|request| request["version"] == "0.3"));
    let sent = &seen[0]["params"]["message"];
    assert_eq!(
        (&sent["kind"], &sent["role"], &sent["parts"][0]["kind"]),
        (&json!("message"), &json!("user"), &json!("text"))
    );
    let got = seen.iter().find(|request| request["method"] == "tasks/get");
    assert_eq!(
        got.expect("it was asked")["params"],
        json!({"id": "363422be", "historyLength": 3})
    );
}
