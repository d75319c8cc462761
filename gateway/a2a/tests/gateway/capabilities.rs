//! Capabilities that a card offers and asks for, and their consequences.

use agenthub_a2a::Settings;
use agenthub_sdk::proto::a2a::{AgentCard, AgentExtension};
use serde_json::{Value, json};

use crate::{
    grpc,
    harness::{Stage, card, message, settings, soon, state},
};

/// spec: A2A 1.0.1 §3.3.4
#[tokio::test]
async fn a_hub_without_streams_refuses_them_and_its_cards_say_so() {
    let settings = Settings {
        streaming: false,
        ..settings()
    };
    let stage = Stage::set(card(), settings).await;
    let card = "/agents/painter/.well-known/agent-card.json";
    let card = stage.http("GET", card, &[], "").await;
    assert_eq!(card.body["capabilities"]["streaming"], false);
    let unsupported = "UNSUPPORTED_OPERATION";
    let sent = stage.rpc("SendStreamingMessage", message("hi")).await;
    assert_eq!(sent["error"]["code"], -32004);
    assert_eq!(sent["error"]["data"][0]["reason"], unsupported);
    let asked = stage.send("ask").await;
    let subscribe = json!({"id": asked["id"]});
    assert_eq!(stage.code("SubscribeToTask", subscribe).await, -32004);
    let sent = stage.rest("POST", "/message:stream", message("hi")).await;
    let reason = &sent.body["error"]["details"][0]["reason"];
    assert_eq!((sent.status, reason), (400, &json!(unsupported)));
    let mut client = grpc::client(&stage).await;
    let sent = client.send_streaming_message(grpc::request(grpc::send("hi")));
    let refused = soon(sent).await.expect_err("it is not offered");
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
    // Everything else is as it was.
    assert_eq!(state(&stage.send("hello").await), "TASK_STATE_COMPLETED");
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.3.4, §4.6.2, §3.2.6, §9.2, §10.2, §11.2
#[tokio::test]
async fn a_required_extension_is_named_in_every_binding() {
    let mut card = AgentCard::from(card());
    let capabilities = card.capabilities.get_or_insert_default();
    capabilities.extensions.push(AgentExtension {
        uri: "urn:x:oil".into(),
        required: true,
        ..Default::default()
    });
    let stage = Stage::with(card).await;
    let missing = json!("EXTENSION_SUPPORT_REQUIRED");
    let sent = stage.rpc("SendMessage", message("hi")).await;
    assert_eq!(sent["error"]["code"], -32008);
    assert_eq!(sent["error"]["data"][0]["reason"], missing);
    let ask = async |extensions: &str| {
        let headers = [
            ("a2a-version", "1.0"),
            ("content-type", "application/json"),
            ("a2a-extensions", extensions),
        ];
        let body = message("hi").to_string();
        stage.http("POST", "/message:send", &headers, body).await
    };
    let other = ask("urn:x:water").await;
    let reason = &other.body["error"]["details"][0]["reason"];
    assert_eq!((other.status, reason), (400, &missing));
    assert_eq!(ask("urn:x:water, urn:x:oil").await.status, 200);

    let mut client = grpc::client(&stage).await;
    let refused = soon(client.send_message(grpc::request(grpc::send("hi")))).await;
    let refused = refused.expect_err("it is not named");
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
    let mut named = grpc::request(grpc::send("hi"));
    let uri = "urn:x:oil".parse().expect("a value");
    named.metadata_mut().insert("a2a-extensions", uri);
    assert!(soon(client.send_message(named)).await.is_ok());
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.2.2, §7.6.1
#[tokio::test]
async fn a_task_that_needs_authorization_says_why_and_goes_on_with_the_same_task() {
    let stage = Stage::start().await;
    let task = stage.send("auth").await;
    assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(
        task["status"]["message"]["parts"],
        json!([{"text": "sign in at https://shop.example"}])
    );
    let mut done = message("signed in");
    done["message"]["taskId"] = task["id"].clone();
    let done = stage.done("SendMessage", done).await;
    assert_eq!(state(&done), "TASK_STATE_COMPLETED");
    assert_eq!(done["task"]["id"], task["id"]);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.1, §3.4.1
#[tokio::test]
async fn an_agent_may_answer_with_a_message_alone() {
    let stage = Stage::start().await;
    let answer = stage.done("SendMessage", message("alone")).await;
    let message_alone = &answer["message"];
    assert_eq!(message_alone["parts"], json!([{"text": "no task"}]));
    assert_eq!(message_alone["role"], "ROLE_AGENT");
    assert_eq!(message_alone.get("taskId"), None);
    assert_eq!(message_alone.get("metadata"), None);
    let context = message_alone["contextId"].as_str();
    assert!(context.is_some_and(|context| !context.is_empty()));
    let mut at_once = message("alone");
    at_once["configuration"] = json!({"returnImmediately": true});
    let at_once = stage.done("SendMessage", at_once).await;
    assert_ne!(at_once["task"], Value::Null, "there is no answer yet");
    stage.stop().await;
}
