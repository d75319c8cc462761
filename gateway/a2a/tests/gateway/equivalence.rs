//! The same request, right or wrong, in all three bindings.

use agenthub_a2a::v1;
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::{
    grpc,
    harness::{Stage, follow_up, message, soon},
};

/// The reason of an A2A error in the details of a gRPC status.
fn reason(status: &Status) -> String {
    let details = String::from_utf8_lossy(status.details()).into_owned();
    let reason = |text: &str| text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let mut words = details.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let found = words.find(|word| word.len() > 8 && reason(word));
    found.unwrap_or_default().to_owned()
}

struct Refused {
    code: i64,
    http: u16,
    grpc: Code,
    reason: &'static str,
}

impl Refused {
    fn check(&self, what: &str, over_rpc: &Value, over_http: (u16, &Value), over_grpc: &Status) {
        let error = &over_rpc["error"];
        assert_eq!(error["code"], self.code, "{what}: {error}");
        assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()));
        assert_eq!(error["data"][0]["reason"], self.reason, "{what}");
        let info = "type.googleapis.com/google.rpc.ErrorInfo";
        assert_eq!(error["data"][0]["@type"], info, "{what}");
        let (status, body) = over_http;
        assert_eq!(status, self.http, "{what}: {body}");
        assert_eq!(body["error"]["code"], self.http, "{what}");
        assert_eq!(body["error"]["details"], error["data"], "{what}");
        assert_eq!(over_grpc.code(), self.grpc, "{what}: {over_grpc:?}");
        assert_eq!(reason(over_grpc), self.reason, "{what}");
        assert_eq!(over_grpc.message(), error["message"], "{what}");
    }
}

const NOT_FOUND: Refused = Refused {
    code: -32001,
    http: 404,
    grpc: Code::NotFound,
    reason: "TASK_NOT_FOUND",
};
const NOT_CANCELABLE: Refused = Refused {
    code: -32002,
    http: 400,
    grpc: Code::FailedPrecondition,
    reason: "TASK_NOT_CANCELABLE",
};
const UNSUPPORTED: Refused = Refused {
    code: -32004,
    http: 400,
    grpc: Code::FailedPrecondition,
    reason: "UNSUPPORTED_OPERATION",
};
const CONTENT_TYPE: Refused = Refused {
    code: -32005,
    http: 400,
    grpc: Code::InvalidArgument,
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
};

/// spec: A2A 1.0.1 §3.1.1, §3.1.3, §3.1.5, §3.1.6, §3.4.2, §5.1, §5.4, §9.5, §10.6, §11.6
#[tokio::test]
async fn a_refusal_is_the_same_in_every_binding() {
    let mut card = agenthub_sdk::proto::a2a::AgentCard::from(crate::harness::card());
    card.default_input_modes = vec!["text/plain".into()];
    let stage = Stage::with(card).await;
    let mut client = grpc::client(&stage).await;
    let done = stage.send("hello").await;
    let id = done["id"].as_str().expect("an id").to_owned();

    for (id, refused) in [("no", NOT_FOUND), (id.as_str(), NOT_CANCELABLE)] {
        let over_rpc = stage.rpc("CancelTask", json!({"id": id})).await;
        let path = format!("/tasks/{id}:cancel");
        let over_http = stage.rest("POST", &path, json!({})).await;
        let request = v1::CancelTaskRequest {
            id: id.into(),
            ..Default::default()
        };
        let over_grpc = soon(client.cancel_task(grpc::request(request))).await;
        let over_grpc = over_grpc.expect_err("it is refused");
        refused.check(
            "cancel",
            &over_rpc,
            (over_http.status, &over_http.body),
            &over_grpc,
        );
    }
    for (id, refused) in [("no", NOT_FOUND), (id.as_str(), UNSUPPORTED)] {
        let over_rpc = stage.rpc("SubscribeToTask", json!({"id": id})).await;
        let path = format!("/tasks/{id}:subscribe");
        let over_http = stage.rest("GET", &path, Value::Null).await;
        let request = v1::SubscribeToTaskRequest {
            id: id.into(),
            ..Default::default()
        };
        let over_grpc = soon(client.subscribe_to_task(grpc::request(request))).await;
        let over_grpc = over_grpc.expect_err("it is refused");
        refused.check(
            "subscribe",
            &over_rpc,
            (over_http.status, &over_http.body),
            &over_grpc,
        );
    }
    let over_rpc = stage.rpc("GetTask", json!({"id": "no"})).await;
    let over_http = stage.rest("GET", "/tasks/no", Value::Null).await;
    let request = v1::GetTaskRequest {
        id: "no".into(),
        ..Default::default()
    };
    let over_grpc = soon(client.get_task(grpc::request(request))).await;
    let over_grpc = over_grpc.expect_err("it is refused");
    NOT_FOUND.check(
        "get",
        &over_rpc,
        (over_http.status, &over_http.body),
        &over_grpc,
    );

    for (id, refused) in [("no", NOT_FOUND), (id.as_str(), UNSUPPORTED)] {
        let params = follow_up("more", &json!({"id": id}));
        let over_rpc = stage.rpc("SendMessage", params.clone()).await;
        let over_http = stage.rest("POST", "/message:send", params).await;
        let mut request = grpc::send("more");
        request.message.get_or_insert_default().task_id = id.into();
        let over_grpc = soon(client.send_message(grpc::request(request))).await;
        let over_grpc = over_grpc.expect_err("it is refused");
        refused.check(
            "follow up",
            &over_rpc,
            (over_http.status, &over_http.body),
            &over_grpc,
        );
    }
    let mut params = message("");
    params["message"]["parts"] = json!([{"raw": "dGNr", "mediaType": "application/x-odd"}]);
    let over_rpc = stage.rpc("SendMessage", params.clone()).await;
    let over_http = stage.rest("POST", "/message:send", params).await;
    let mut request = grpc::send("");
    request.message.get_or_insert_default().parts = vec![v1::Part {
        content: Some(v1::part::Content::Raw(b"tck".to_vec())),
        media_type: "application/x-odd".into(),
        ..Default::default()
    }];
    let over_grpc = soon(client.send_message(grpc::request(request))).await;
    let over_grpc = over_grpc.expect_err("it is refused");
    CONTENT_TYPE.check(
        "content",
        &over_rpc,
        (over_http.status, &over_http.body),
        &over_grpc,
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §9.1, §11.1
#[tokio::test]
async fn a_body_that_says_it_is_no_json_is_refused() {
    let stage = Stage::start().await;
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("hi")});
    let headers = [("a2a-version", "1.0"), ("content-type", "text/plain")];
    let over_rpc = stage.http("POST", "/", &headers, request.to_string()).await;
    assert_eq!(over_rpc.body["error"]["code"], -32005);
    let body = message("hi").to_string();
    let over_http = stage.http("POST", "/message:send", &headers, body).await;
    let reason = &over_http.body["error"]["details"][0]["reason"];
    assert_eq!(
        (over_http.status, reason),
        (400, &json!("CONTENT_TYPE_NOT_SUPPORTED"))
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §11.1
#[tokio::test]
async fn an_answer_is_of_the_type_of_its_request() {
    let stage = Stage::start().await;
    let answered = async |content_type: &str, accept: &str, body: Value| {
        let headers = [
            ("a2a-version", "1.0"),
            ("content-type", content_type),
            ("accept", accept),
        ];
        let body = body.to_string();
        let answer = stage.http("POST", "/message:send", &headers, body).await;
        answer.headers["content-type"].to_str().map(str::to_owned)
    };
    let (plain, own) = ("application/json", "application/a2a+json");
    let check = async |content_type, accept, expect: &str| {
        for body in [message("hi"), json!({})] {
            let got = answered(content_type, accept, body).await;
            assert_eq!(got.as_deref().ok(), Some(expect));
        }
    };
    check(own, "*/*", own).await;
    check(plain, "*/*", plain).await;
    check(plain, own, own).await;
    let listed = stage
        .http("GET", "/tasks", &[("a2a-version", "1.0")], "")
        .await;
    assert_eq!(listed.headers["content-type"], own);
    stage.stop().await;
}

/// Every name, enumeration and time of a value.
fn look(at: &str, json: &Value) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                assert!(!name.contains('_'), "{at}.{name} is not camelCase");
                match (name.as_str(), value) {
                    ("state", Value::String(state)) => assert!(state.starts_with("TASK_STATE_")),
                    ("role", Value::String(role)) => assert!(role.starts_with("ROLE_")),
                    ("timestamp", time) => {
                        let time = time.as_str().expect("a text");
                        assert!(time.contains('T') && time.ends_with('Z'), "{time}");
                    }
                    // Its names are the agent's.
                    ("metadata", _) => continue,
                    _ => {}
                }
                look(&format!("{at}.{name}"), value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| look(at, item)),
        _ => {}
    }
}

/// spec: A2A 1.0.1 §3.4.2, §4.1, §5.1, §5.5, §5.6.1, §5.7
#[tokio::test]
async fn what_is_read_is_the_same_in_both_bindings_of_json_and_has_all_that_it_must_have() {
    let stage = Stage::start().await;
    let drawn = stage.send("draw").await;
    let id = drawn["id"].as_str().expect("an id");
    let over_rpc = stage.done("GetTask", json!({"id": id})).await;
    let over_http = stage
        .rest("GET", &format!("/tasks/{id}"), Value::Null)
        .await;
    assert_eq!(over_rpc, over_http.body);
    look("task", &over_rpc);
    assert!(over_rpc["status"]["state"].is_string() && over_rpc["contextId"].is_string());
    for message in over_rpc["history"].as_array().expect("a history") {
        for field in ["messageId", "role", "parts"] {
            assert!(message.get(field).is_some(), "{field} of {message}");
        }
    }
    let artifact = &over_rpc["artifacts"][0];
    assert!(artifact["artifactId"].is_string() && artifact["parts"][0]["text"].is_string());
    let asked = stage.send("ask").await;
    assert_ne!(asked["id"], drawn["id"], "every task has an id of its own");
    assert_ne!(asked["contextId"], drawn["contextId"]);
    stage.stop().await;
}
