//! A2A 0.3: clients that send no version.

use serde_json::{Value, json};

use crate::harness::{Events, Stage};

fn body(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).to_string()
}

fn message(text: &str) -> Value {
    json!({"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}})
}

/// spec: A2A 1.0.1 §3.6.2
#[tokio::test]
async fn a_client_of_0_3_sends_reads_cancels_and_streams() {
    let stage = Stage::start().await;
    let headers = [("content-type", "application/json")];
    let call = async |method: &str, params: Value| {
        let answer = stage
            .http("POST", "/agents/painter/", &headers, body(method, &params))
            .await;
        answer.body
    };
    let sent = call("message/send", message("hello")).await["result"].take();
    assert_eq!(
        (&sent["kind"], &sent["status"]["state"]),
        (&json!("task"), &json!("completed"))
    );
    assert_eq!(
        sent["status"]["message"]["parts"],
        json!([{"kind": "text", "text": "hello"}])
    );
    let got =
        call("tasks/get", json!({"id": sent["id"], "historyLength": 1})).await["result"].take();
    assert_eq!(
        (&got["id"], got["history"].as_array().map(Vec::len)),
        (&sent["id"], Some(1))
    );
    assert_eq!(
        call("tasks/cancel", json!({"id": sent["id"]})).await["error"]["code"],
        -32002
    );
    assert_eq!(
        call("tasks/get", json!({"id": "no"})).await["error"]["code"],
        -32001
    );

    let asked = stage
        .ask(
            "POST",
            "/",
            &headers,
            body("message/stream", &message("draw")),
        )
        .await;
    let events = Events::of(asked).rest().await;
    let kinds: Vec<&Value> = events.iter().map(|e| &e["kind"]).collect();
    assert_eq!(kinds[0], "task");
    assert!(kinds.contains(&&json!("artifact-update")));
    let last = events.last().expect("an end");
    assert_eq!(
        (&last["kind"], &last["final"]),
        (&json!("status-update"), &json!(true))
    );

    let id = stage.at_work().await;
    let mut events = Events::of(
        stage
            .ask(
                "POST",
                "/",
                &headers,
                body("tasks/resubscribe", &json!({"id": id})),
            )
            .await,
    );
    let first = events.next().await.expect("the task");
    assert_eq!(first["status"]["state"], "working");
    let cancelled = call("tasks/cancel", json!({"id": id})).await["result"].take();
    assert_eq!(cancelled["status"]["state"], "canceled");
    let rest = events.rest().await;
    assert_eq!(rest.last().expect("an end")["status"]["state"], "canceled");
    stage.stop().await;
}

#[tokio::test]
async fn a_card_names_the_fields_of_0_3_too() {
    let stage = Stage::start().await;
    let card = stage
        .http(
            "GET",
            "/agents/painter/.well-known/agent-card.json",
            &[],
            "",
        )
        .await
        .body;
    assert_eq!(card["url"], "http://127.0.0.1:8080/agents/painter");
    assert_eq!(card["preferredTransport"], "JSONRPC");
    assert_eq!(card["protocolVersion"], "0.3.0");
    stage.stop().await;
}
