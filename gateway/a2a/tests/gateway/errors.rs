//! Errors in the bindings over HTTP.

use agenthub_a2a::v1;
use axum::body::to_bytes;
use serde_json::{Value, json};

use crate::harness::{Stage, card, message, settings};

fn info(reason: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"})
}

/// spec: A2A 1.0.1 §3.3.2, §5.4, §9.5, §11.6
#[tokio::test]
async fn an_error_is_the_same_in_both_bindings() {
    let stage = Stage::start().await;
    let over_rpc = stage.rpc("GetTask", json!({"id": "no"})).await;
    let over_http = stage.rest("GET", "/tasks/no", Value::Null).await;
    assert_eq!(over_rpc["error"]["code"], -32001);
    let mut expect = info("TASK_NOT_FOUND");
    expect["metadata"] = json!({"taskId": "no"});
    assert_eq!(over_rpc["error"]["data"], json!([expect]));
    assert_eq!(over_http.status, 404);
    assert_eq!(over_http.headers["content-type"], "application/a2a+json");
    assert_eq!(over_http.body["error"]["details"], json!([expect]));
    assert_eq!(over_http.body["error"]["code"], 404);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.6.2, §9.2, §11.2
#[tokio::test]
async fn another_version_is_refused() {
    let stage = Stage::start().await;
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}).to_string();
    let ask = async |version: &str, path: &str, method: &str| {
        let headers = [
            ("a2a-version", version),
            ("content-type", "application/json"),
        ];
        stage.http(method, path, &headers, body.clone()).await
    };
    let rpc = ask("99.0", "/", "POST").await;
    assert_eq!(rpc.body["error"]["code"], -32009);
    assert_eq!(
        rpc.body["error"]["data"][0]["reason"],
        "VERSION_NOT_SUPPORTED"
    );
    let rest = ask("99.0", "/tasks/x", "GET").await;
    assert_eq!(
        (rest.status, &rest.body["error"]["details"][0]["reason"]),
        (400, &json!("VERSION_NOT_SUPPORTED"))
    );
    // Nothing is 0.3, which has other methods and no HTTP+JSON here.
    assert_eq!(ask("", "/", "POST").await.body["error"]["code"], -32601);
    assert_eq!(ask("", "/tasks/x", "GET").await.status, 400);
    assert_eq!(ask("", "/tasks/x?A2A-Version=1.0", "GET").await.status, 404);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.3.4
#[tokio::test]
async fn what_the_card_does_not_offer_is_refused_as_it_says() {
    let mut settings = settings();
    settings.push = None;
    let stage = Stage::set(card(), settings).await;
    let card = "/agents/painter/.well-known/agent-card.json";
    let card = stage.http("GET", card, &[], "").await.body;
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    let config = json!({"taskId": "t", "url": "https://a.example"});
    assert_eq!(
        stage.code("CreateTaskPushNotificationConfig", config).await,
        -32003
    );
    assert_eq!(
        stage
            .code("ListTaskPushNotificationConfigs", json!({"taskId": "t"}))
            .await,
        -32003
    );
    assert_eq!(stage.code("GetExtendedAgentCard", json!({})).await, -32004);
    let path = "/agents/painter/tasks/t/pushNotificationConfigs";
    let answer = stage.rest("GET", path, Value::Null).await;
    assert_eq!(
        (answer.status, &answer.body["error"]["details"]),
        (400, &json!([info("PUSH_NOTIFICATION_NOT_SUPPORTED")]))
    );
    let answer = stage.rest("GET", "/extendedAgentCard", Value::Null).await;
    assert_eq!(
        (answer.status, &answer.body["error"]["details"]),
        (400, &json!([info("UNSUPPORTED_OPERATION")]))
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.3.2, §9.5, §13.4
#[tokio::test]
async fn wrong_parameters_are_named() {
    let stage = Stage::start().await;
    let field = async |change: fn(&mut Value)| {
        let mut params = message("hi");
        change(&mut params);
        let answer = stage.rpc("SendMessage", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        answer["error"]["data"][0]["fieldViolations"][0]["field"].clone()
    };
    assert_eq!(field(|p| p["message"] = Value::Null).await, "message");
    assert_eq!(
        field(|p| p["message"]["messageId"] = "".into()).await,
        "message.messageId"
    );
    assert_eq!(
        field(|p| p["message"]["role"] = "user".into()).await,
        "message.role"
    );
    assert_eq!(
        field(|p| p["message"]["parts"] = json!([])).await,
        "message.parts"
    );
    assert_eq!(
        field(|p| p["configuration"] = json!({"historyLength": "many"})).await,
        "configuration.historyLength"
    );
    let large = "x".repeat(1_200_000);
    let mut params = message("");
    params["message"]["parts"][0]["text"] = large.into();
    assert_eq!(stage.code("SendMessage", params).await, -32602);
    stage.stop().await;
}

/// SDKs of A2A know an error by it, and show its words then.
///
/// spec: A2A 1.0.1 §9.5, §10.6, §11.6
#[tokio::test]
async fn an_error_of_json_rpc_has_a_reason_in_every_binding() {
    let stage = Stage::start().await;
    let expect = info("INVALID_PARAMS");
    let over_rpc = stage.rpc("ListTasks", json!({"pageToken": "x"})).await;
    let details = &over_rpc["error"]["data"];
    assert_eq!(details[0]["fieldViolations"][0]["field"], "pageToken");
    assert_eq!(details[1], expect);
    let path = "/agents/painter/tasks?pageToken=x";
    let over_http = stage.rest("GET", path, Value::Null).await;
    assert_eq!(&over_http.body["error"]["details"], details);
    let mut client = crate::grpc::client(&stage).await;
    let request = v1::ListTasksRequest {
        tenant: "painter".into(),
        page_token: "x".into(),
        ..Default::default()
    };
    let over_grpc = client.list_tasks(crate::grpc::request(request)).await;
    let over_grpc = over_grpc.expect_err("it is wrong");
    let details = String::from_utf8_lossy(over_grpc.details());
    for part in ["pageToken", "INVALID_PARAMS", "a2a-protocol.org"] {
        assert!(details.contains(part), "{part}: {details}");
    }
    let path = "/agents/nobody/tasks";
    let nobody = stage.rest("GET", path, Value::Null).await;
    assert_eq!(
        (nobody.status, &nobody.body["error"]["details"]),
        (404, &json!([expect]))
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §4.1.4, §5.5
#[tokio::test]
async fn a_role_that_there_is_not_is_said_so() {
    let stage = Stage::start().await;
    let mut params = message("hi");
    params["message"]["role"] = 7.into();
    let answer = stage.rpc("SendMessage", params).await;
    let wrong = &answer["error"]["data"][0]["fieldViolations"][0];
    assert_eq!(wrong["field"], "message.role", "{answer}");
    assert_eq!(
        wrong["description"],
        "message.role is 7, which is no known value; there are ROLE_USER and ROLE_AGENT, and a client's messages are ROLE_USER"
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §9.1 (JSON-RPC 2.0 §5)
#[tokio::test]
async fn an_id_comes_back_as_it_was_sent() {
    let stage = Stage::start().await;
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    for id in [
        "9007199254740993",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1.0",
        r#""é\u00e9\n""#,
        "null",
    ] {
        for (method, params) in [
            ("GetTask", json!({"id": "no"})),
            ("SendMessage", message("hi")),
            ("SendStreamingMessage", message("hi")),
            ("Nothing", Value::Null),
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
            let answer = stage.ask("POST", "/", &headers, body).await;
            let answer = to_bytes(answer.into_body(), usize::MAX).await;
            let answer = String::from_utf8(answer.expect("a body").to_vec()).expect("text");
            let with_id = format!(r#""id":{id},"#);
            assert!(answer.contains(&with_id), "{id}: {answer}");
        }
    }
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.4, §5.5, §11.5, §11.6
#[tokio::test]
async fn what_is_wrong_is_said_in_the_words_of_the_binding() {
    let stage = Stage::start().await;
    let answer = stage.rpc("ListTasks", json!({"status": 99})).await;
    let wrong = &answer["error"]["data"][0]["fieldViolations"][0];
    assert_eq!(wrong["field"], "status", "{answer}");
    let answer = stage.rpc("ListTasks", json!({"pageToken": "x"})).await;
    let said = answer["error"]["message"].as_str().expect("words");
    assert!(said.contains("nextPageToken"), "{said}");
    let headers = [
        ("a2a-version", "1.0"),
        ("content-type", "application/a2a+json"),
    ];
    let answer = stage
        .http("POST", "/message:send", &headers, "{\"a\": ")
        .await;
    let said = answer.body["error"]["message"].as_str().expect("words");
    assert!(said.starts_with("no JSON: "), "{said}");
    let mut params = message("hi");
    params["message"]["messageId"] = "a\nb".into();
    let answer = stage.rpc("SendMessage", params).await;
    let wrong = &answer["error"]["data"][0]["fieldViolations"][0];
    assert_eq!(wrong["field"], "message.messageId", "{answer}");
    let old = [("a2a-version", "0.3")];
    let answer = stage.http("GET", "/tasks", &old, "").await;
    let said = answer.body["error"]["message"].as_str().expect("words");
    assert!(said.starts_with("A2A 0.3"), "{said}");

    for (path, field, body) in [
        ("/tasks/one:cancel", "id", json!({"id": "two"})),
        (
            "/tasks/one/pushNotificationConfigs",
            "taskId",
            json!({"taskId": "two", "url": "https://a.example"}),
        ),
    ] {
        let answer = stage.rest("POST", path, body).await;
        let wrong = &answer.body["error"]["details"][0]["fieldViolations"][0];
        assert_eq!(
            (answer.status, &wrong["field"]),
            (400, &json!(field)),
            "{wrong}"
        );
    }
    for (method, path, status) in [
        ("GET", "/agents/painter/nothing/here", 404),
        ("PUT", "/tasks/one", 405),
    ] {
        let answer = stage.rest(method, path, Value::Null).await;
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (status, &json!(status)),
            "{path}"
        );
    }
    stage.stop().await;
}

/// spec: A2A 1.0.1 §9.1 (JSON-RPC 2.0 §4.1)
#[tokio::test]
async fn a_request_without_an_id_is_done_and_not_answered() {
    let stage = Stage::start().await;
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let mut params = message("hi");
    params["message"]["contextId"] = "told".into();
    let told = json!({"jsonrpc": "2.0", "method": "SendMessage", "params": params});
    let answer = stage.http("POST", "/", &headers, told.to_string()).await;
    assert_eq!((answer.status, answer.body), (204, Value::Null));
    let page = stage.done("ListTasks", json!({"contextId": "told"})).await;
    assert_eq!(page["totalSize"], 1, "{page}");
    stage.stop().await;
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_said_so() {
    let stage = Stage::start().await;
    let answer = stage
        .rest("POST", "/agents/nobody/message:send", message("hi"))
        .await;
    assert_eq!(answer.status, 404);
    let mut other = message("hi");
    other["tenant"] = "nobody".into();
    assert_eq!(stage.code("SendMessage", other).await, -32602);
    stage.stop().await;
}

#[tokio::test]
async fn pages_of_other_sites_ask_only_if_the_settings_let_them() {
    let stage = Stage::start().await;
    let body = message("hi").to_string();
    let ask = async |origin: &str, content_type: &str| {
        let headers = [
            ("a2a-version", "1.0"),
            ("content-type", content_type),
            ("origin", origin),
        ];
        stage
            .http("POST", "/message:send", &headers, body.clone())
            .await
    };
    assert_eq!(
        ask("https://evil.example", "application/json").await.status,
        403
    );
    let answer = ask("https://app.example", "application/json").await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.headers["access-control-allow-origin"],
        "https://app.example"
    );
    assert_eq!(ask("https://app.example", "text/plain").await.status, 400);
    let preflight = stage
        .http(
            "OPTIONS",
            "/message:send",
            &[("origin", "https://app.example")],
            "",
        )
        .await;
    assert_eq!(preflight.status, 204);
    assert!(
        preflight
            .headers
            .contains_key("access-control-allow-methods")
    );
    let preflight = stage
        .http(
            "OPTIONS",
            "/message:send",
            &[("origin", "https://evil.example")],
            "",
        )
        .await;
    assert!(
        !preflight
            .headers
            .contains_key("access-control-allow-origin")
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §9.5, §11.6
#[tokio::test]
async fn a_body_that_is_too_large_is_refused_in_the_form_of_its_binding() {
    let stage = Stage::start().await;
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let large = "x".repeat(2 * 1024 * 1024 + 1);
    let rpc = stage.http("POST", "/", &headers, large.clone()).await;
    assert_eq!(rpc.status, 413);
    assert_eq!(rpc.headers["content-type"], "application/json");
    assert_eq!(rpc.body["jsonrpc"], "2.0", "{}", rpc.body);
    assert_eq!(rpc.body["id"], Value::Null);
    assert_eq!(rpc.body["error"]["code"], -32600);
    let rest = stage.http("POST", "/message:send", &headers, large).await;
    assert_eq!(rest.status, 413);
    assert_eq!(rest.headers["content-type"], "application/a2a+json");
    let error = &rest.body["error"];
    assert_eq!(
        (&error["code"], &error["status"]),
        (&json!(413), &json!("INVALID_ARGUMENT"))
    );
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|m| m.contains("at most 2097152 bytes")),
        "{error}"
    );
    stage.stop().await;
}
