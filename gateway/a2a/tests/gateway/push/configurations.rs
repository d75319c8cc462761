//! Configurations of push notifications.

use super::*;

/// spec: A2A 1.0.1 §3.3.2: a limit that is reached is no wrong parameter
#[tokio::test]
async fn more_configurations_than_a_task_may_have_exhaust_it_in_every_binding() {
    const MOST: usize = 16;
    let stage = stage().await;
    let task = waiting(&stage).await;
    let id = task["id"].as_str().expect("an id");
    let config =
        |n: usize| json!({"taskId": id, "id": format!("c{n}"), "url": "https://hook.example/"});
    let create = "CreateTaskPushNotificationConfig";
    for n in 0..MOST {
        stage.done(create, config(n)).await;
    }
    stage.done(create, config(0)).await;
    let over_rpc = stage.rpc(create, config(MOST)).await;
    assert_eq!(over_rpc["error"]["code"], -32603, "{over_rpc}");
    let said = over_rpc["error"]["message"].as_str().expect("words");
    assert!(said.contains("16 at most"), "{said}");
    let info = json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RESOURCE_EXHAUSTED", "domain": "agenthub",
    }]);
    assert_eq!(over_rpc["error"]["data"], info);
    let path = format!("/tasks/{id}/pushNotificationConfigs");
    let over_http = stage.rest("POST", &path, config(MOST)).await;
    assert_eq!(
        (over_http.status, &over_http.body["error"]["status"]),
        (429, &json!("RESOURCE_EXHAUSTED"))
    );
    assert_eq!(over_http.body["error"]["details"], info);
    let mut client = crate::grpc::client(&stage).await;
    let config = v1::TaskPushNotificationConfig {
        tenant: "painter".into(),
        task_id: id.into(),
        url: "https://hook.example/".into(),
        ..Default::default()
    };
    let over_grpc = client
        .create_task_push_notification_config(crate::grpc::request(config))
        .await;
    let status = over_grpc.expect_err("it is full");
    assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    let details = String::from_utf8_lossy(status.details());
    assert!(details.contains("RESOURCE_EXHAUSTED"), "{details}");
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.7
#[tokio::test]
async fn a_configuration_of_a_task_that_is_there_gets_what_comes() {
    let stage = stage().await;
    let mut receiver = Receiver::start([]).await;
    let task = waiting(&stage).await;
    let mut config = hook(&receiver);
    config["taskId"] = task["id"].clone();
    let created = stage.done("CreateTaskPushNotificationConfig", config).await;
    assert_eq!(created["url"], receiver.url.as_str());
    stage.done("SendMessage", follow_up("blue", &task)).await;
    let posted = receiver.until(COMPLETED).await;
    assert_eq!(shown(&posted), [WORKING, COMPLETED]);
    assert!(receiver.is_left_alone().await);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.10
#[tokio::test]
async fn nothing_is_sent_once_a_configuration_is_deleted() {
    let stage = stage().await;
    let mut receiver = Receiver::start([Answer::Hang]).await;
    let sent = with_config("hello", hook(&receiver));
    let task = stage.done("SendMessage", sent).await["task"].take();
    receiver.next().await;
    let config = json!({"taskId": task["id"], "id": "c"});
    for _ in 0..2 {
        let deleted = stage
            .done("DeleteTaskPushNotificationConfig", config.clone())
            .await;
        assert_eq!(deleted, Value::Null);
    }
    receiver.let_go();
    assert!(receiver.is_left_alone().await);
    assert_eq!(
        stage.code("GetTaskPushNotificationConfig", config).await,
        -32001
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.7 to §3.1.10, §11.3.3
#[tokio::test]
async fn configurations_are_made_read_listed_and_deleted() {
    let stage = stage().await;
    let task = stage.send("hello").await;
    let id = task["id"].as_str().expect("an id");
    let path = format!("/agents/painter/tasks/{id}/pushNotificationConfigs");
    for n in 0..3 {
        let config = json!({"id": format!("c{n}"), "url": "https://hook.example/", "authentication": {"scheme": "Basic", "credentials": "secret"}});
        let made = stage.rest("POST", &path, config).await;
        assert_eq!((made.status, &made.body["taskId"]), (200, &json!(id)));
        assert_eq!(made.body["authentication"], json!({"scheme": "Basic"}));
    }
    let unnamed = stage
        .rest("POST", &path, json!({"url": "https://hook.example/"}))
        .await;
    assert!(unnamed.body["id"].as_str().is_some_and(|id| !id.is_empty()));

    let one = stage.rest("GET", &format!("{path}/c1"), Value::Null).await;
    assert_eq!(
        (one.status, &one.body["url"]),
        (200, &json!("https://hook.example/"))
    );
    let first = stage
        .rest("GET", &format!("{path}?pageSize=3"), Value::Null)
        .await;
    assert_eq!(first.body["configs"].as_array().map(Vec::len), Some(3));
    let token = first.body["nextPageToken"].as_str().expect("more");
    let next = format!("{path}?pageSize=3&pageToken={token}");
    let next = stage.rest("GET", &next, Value::Null).await;
    assert_eq!(next.body["configs"].as_array().map(Vec::len), Some(1));
    assert_eq!(next.body.get("nextPageToken"), None);
    let listed = stage
        .done("ListTaskPushNotificationConfigs", json!({"taskId": id}))
        .await;
    assert_eq!(listed["configs"].as_array().map(Vec::len), Some(4));

    for _ in 0..2 {
        let deleted = stage
            .rest("DELETE", &format!("{path}/c1"), Value::Null)
            .await;
        assert_eq!((deleted.status, deleted.body), (200, json!({})));
    }
    let gone = stage.rest("GET", &format!("{path}/c1"), Value::Null).await;
    assert_eq!(gone.status, 404);
    assert_eq!(gone.body["error"]["details"][0]["reason"], "TASK_NOT_FOUND");
    for (method, path) in [
        ("GET", "/tasks/no/pushNotificationConfigs"),
        ("GET", "/tasks/no/pushNotificationConfigs/c"),
        ("DELETE", "/tasks/no/pushNotificationConfigs/c"),
    ] {
        assert_eq!(
            stage.rest(method, path, Value::Null).await.status,
            404,
            "{method} {path}"
        );
    }
    for (params, field) in [
        (json!({"taskId": id, "pageSize": -1}), "pageSize"),
        (json!({"taskId": id, "pageToken": "x"}), "pageToken"),
        (json!({}), "taskId"),
    ] {
        let fault = stage.rpc("ListTaskPushNotificationConfigs", params).await;
        assert_eq!(
            fault["error"]["data"][0]["fieldViolations"][0]["field"],
            field
        );
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_client_of_0_3_configures_and_gets_tasks() {
    let stage = stage().await;
    let mut receiver = Receiver::start([]).await;
    let headers = [("content-type", "application/json")];
    let call = async |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = stage.http("POST", "/agents/painter/", &headers, body.to_string());
        let mut answer = answer.await.body;
        assert_eq!(answer["error"], Value::Null, "{method}");
        answer["result"].take()
    };
    let task = waiting(&stage).await;
    let config = json!({"url": receiver.url, "token": "tok", "authentication": {"schemes": ["Bearer"], "credentials": "secret"}});
    let set = json!({"taskId": task["id"], "pushNotificationConfig": config});
    let set = call("tasks/pushNotificationConfig/set", set).await;
    assert_eq!(set["pushNotificationConfig"]["id"], task["id"]);
    let of = json!({"id": task["id"]});
    let got = call("tasks/pushNotificationConfig/get", of.clone()).await;
    assert_eq!(got, set);
    let listed = call("tasks/pushNotificationConfig/list", of).await;
    assert_eq!(listed, json!([set]));
    stage.done("SendMessage", follow_up("blue", &task)).await;
    let mut posted = receiver.next().await;
    while posted.body["status"]["state"] != "completed" {
        assert_eq!(posted.body["kind"], "task");
        posted = receiver.next().await;
    }
    assert_eq!(posted.body["id"], task["id"]);
    assert_eq!(posted.header("authorization"), "Bearer secret");
    let delete = json!({"id": task["id"], "pushNotificationConfigId": task["id"]});
    let deleted = call("tasks/pushNotificationConfig/delete", delete).await;
    assert_eq!(deleted, Value::Null);
    stage.stop().await;
}
