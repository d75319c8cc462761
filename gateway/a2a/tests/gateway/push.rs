//! Push notifications: their configurations, and what receivers get.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use agenthub_a2a::{
    Settings,
    push::{self, RetryPolicy, SigningKey},
    v1,
};
use agenthub_sdk::{Message, Role, proto::agenthub::AgentEventMetadata};
use serde_json::{Value, json};

use crate::{
    harness::{Stage, card, follow_up, message, settings},
    receiver::{Answer, Receiver, shown},
};

const SUBMITTED: &str = "task SUBMITTED";
const WORKING: &str = "statusUpdate WORKING";
const COMPLETED: &str = "statusUpdate COMPLETED";

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Receivers may be on this machine, and pauses are short.
fn quick() -> Settings {
    let network = "127.0.0.0/8".parse().expect("a network");
    let mut settings = settings();
    settings.outbound.allow = vec![network];
    settings.push = Some(push::Settings {
        folder: None,
        key: SigningKey::read(KEY).ok(),
        retry_policy: RetryPolicy {
            first_pause: Duration::from_millis(10),
            longest_pause: Duration::from_millis(50),
            ..RetryPolicy::default()
        },
    });
    settings
}

async fn stage() -> Stage {
    Stage::set(card(), quick()).await
}

/// A message that does not wait, with a configuration.
fn with_config(text: &str, config: Value) -> Value {
    let mut params = message(text);
    params["configuration"] =
        json!({"returnImmediately": true, "taskPushNotificationConfig": config});
    params
}

fn hook(receiver: &Receiver) -> Value {
    json!({"id": "c", "url": receiver.url, "token": "tok", "authentication": {"scheme": "Bearer", "credentials": "secret"}})
}

/// A task that waits for its requester.
async fn waiting(stage: &Stage) -> Value {
    stage.send("ask").await
}

/// spec: A2A 1.0.1 §4.3.3, §13.2
#[tokio::test]
async fn everything_that_happens_to_a_task_is_posted_in_order() {
    let stage = stage().await;
    let mut receiver = Receiver::start([]).await;
    let sent = with_config("draw", hook(&receiver));
    let task = stage.done("SendMessage", sent).await["task"].take();
    let mut shown = Vec::new();
    let mut ids = HashSet::new();
    while shown.last().is_none_or(|s| s != COMPLETED) {
        let posted = receiver.next().await;
        assert_eq!(posted.header("authorization"), "Bearer secret");
        assert_eq!(posted.header("x-a2a-notification-token"), "tok");
        assert_eq!(posted.header("content-type"), "application/a2a+json");
        let update = posted.body.as_object().and_then(|o| o.values().next());
        let update = update.expect("one update");
        let of = if update["id"].is_null() {
            &update["taskId"]
        } else {
            &update["id"]
        };
        assert_eq!(of, &task["id"]);
        ids.insert(posted.header("webhook-id").to_owned());
        shown.push(posted.shows());
    }
    assert_eq!(shown[0], SUBMITTED);
    let artifacts = shown.iter().filter(|s| *s == "artifactUpdate").count();
    assert_eq!(artifacts, 3, "{shown:?}");
    // As a stream shows it.
    let events = stage.stream("SendStreamingMessage", message("draw")).await;
    assert_eq!(events.rest().await.len(), shown.len(), "{shown:?}");
    assert_eq!(ids.len(), shown.len(), "each has an id of its own");
    stage.stop().await;
}

/// Words are held back for the status that may have them as well, but not for long.
#[tokio::test]
async fn words_of_an_agent_at_work_are_posted_though_nothing_follows_them() {
    let stage = stage().await;
    let mut receiver = Receiver::start([]).await;
    let sent = with_config("wait", hook(&receiver));
    let task = stage.done("SendMessage", sent).await["task"].take();
    receiver.until(WORKING).await;
    let said = Message {
        task_id: task["id"].as_str().expect("an id").to_owned(),
        ..Message::new(Role::Agent, "half way")
    };
    let client = stage.agent.client();
    let published = client.publish(said, AgentEventMetadata::default()).await;
    published.expect("its task is at work");
    let words = loop {
        let posted = receiver.next().await;
        let words = &posted.body["statusUpdate"]["status"]["message"]["parts"][0]["text"];
        if !words.is_null() {
            break words.clone();
        }
    };
    assert_eq!(words, "half way");
    stage.stop().await;
}

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
    let path = format!("/tasks/{id}/pushNotificationConfigs");
    let over_http = stage.rest("POST", &path, config(MOST)).await;
    assert_eq!(
        (over_http.status, &over_http.body["error"]["status"]),
        (429, &json!("RESOURCE_EXHAUSTED"))
    );
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
    let code = over_grpc.expect_err("it is full").code();
    assert_eq!(code, tonic::Code::ResourceExhausted);
    stage.stop().await;
}

/// The receiver's side of Standard Webhooks, written apart from the sender's.
#[tokio::test]
async fn a_receiver_can_check_who_sent_it_and_when() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use ring::hmac;

    let stage = stage().await;
    let mut receiver = Receiver::start([]).await;
    let sent = with_config("hello", hook(&receiver));
    stage.done("SendMessage", sent).await;
    let posted = receiver.next().await;
    let timestamp: u64 = posted.header("webhook-timestamp").parse().expect("seconds");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    assert!(now.expect("after 1970").as_secs().abs_diff(timestamp) < 300);
    let secret = STANDARD
        .decode(KEY.trim_start_matches("whsec_"))
        .expect("base64");
    let signed = posted.header("webhook-signature").strip_prefix("v1,");
    let signed = STANDARD.decode(signed.expect("a version")).expect("base64");
    let check = |body: &[u8]| {
        let mut content = format!("{}.{timestamp}.", posted.header("webhook-id")).into_bytes();
        content.extend_from_slice(body);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        hmac::verify(&key, &content, &signed).is_ok()
    };
    assert!(check(&posted.bytes));
    assert!(!check(b"{}"));
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

#[tokio::test]
async fn a_receiver_that_fails_gets_it_again_and_the_rest_after_it() {
    let stage = stage().await;
    let busy = [500, 503, 429].map(Answer::Status);
    let mut receiver = Receiver::start(busy).await;
    let sent = with_config("hello", hook(&receiver));
    stage.done("SendMessage", sent).await;
    let posted = receiver.until(COMPLETED).await;
    assert_eq!(shown(&posted), [SUBMITTED, WORKING, COMPLETED]);
    let (first, rest) = posted.split_at(4);
    assert!(first.iter().all(|one| *one == first[0]), "the same one");
    let of_rest: HashSet<_> = rest.iter().map(|(id, _)| id).collect();
    assert_eq!(of_rest.len(), rest.len(), "each of the others once");
    assert!(receiver.is_left_alone().await, "once it was taken");
    stage.stop().await;
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_keeps_nobody_waiting() {
    let stage = stage().await;
    let hang = std::iter::repeat_with(|| Answer::Hang).take(100);
    let mut slow = Receiver::start(hang).await;
    for n in 0..20 {
        let mut config = hook(&slow);
        config["id"] = n.to_string().into();
        stage
            .done("SendMessage", with_config(&format!("hello {n}"), config))
            .await;
    }
    slow.next().await;
    let mut quick = Receiver::start([]).await;
    stage
        .done("SendMessage", with_config("hello", hook(&quick)))
        .await;
    quick.until(COMPLETED).await;
    slow.let_go();
    let mut ended = 0;
    while ended < 20 {
        ended += usize::from(slow.next().await.shows() == COMPLETED);
    }
    stage.stop().await;
}

#[tokio::test]
async fn redirects_are_not_followed_and_who_is_gone_is_left_alone() {
    let stage = stage().await;
    for answer in [Answer::Redirect("/elsewhere"), Answer::Status(410)] {
        let mut receiver = Receiver::start([answer]).await;
        let sent = with_config("wait", hook(&receiver));
        let task = stage.done("SendMessage", sent).await["task"].take();
        receiver.next().await;
        let gone = json!({"taskId": task["id"], "id": "c"});
        crate::harness::soon(async {
            while stage
                .rpc("GetTaskPushNotificationConfig", gone.clone())
                .await["error"]["code"]
                != -32001
            {
                tokio::task::yield_now().await;
            }
        })
        .await;
        stage.done("CancelTask", json!({"id": task["id"]})).await;
        assert!(receiver.is_left_alone().await);
    }
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

/// spec: A2A 1.0.1 §13.2
#[tokio::test]
async fn receivers_on_this_machine_are_refused_unless_a_setting_allows_them() {
    let stage = Stage::start().await;
    let receiver = Receiver::start([]).await;
    let refused = stage
        .rpc("SendMessage", with_config("hello", hook(&receiver)))
        .await;
    assert_eq!(refused["error"]["code"], -32602);
    let fault = &refused["error"]["data"][0]["fieldViolations"][0];
    assert_eq!(
        fault["field"],
        "configuration.taskPushNotificationConfig.url"
    );
    let task = waiting(&stage).await;
    for url in [
        "http://169.254.169.254/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "gopher://a.example/",
        "",
    ] {
        let config = json!({"taskId": task["id"], "url": url});
        assert_eq!(
            stage.code("CreateTaskPushNotificationConfig", config).await,
            -32602,
            "{url}"
        );
    }
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
async fn a_gateway_without_configurations_closes_at_once() {
    let stage = stage().await;
    let begun = Instant::now();
    stage.gateway.close().await;
    assert!(begun.elapsed() < Duration::from_millis(900));
    stage.stop().await;
}

#[tokio::test]
async fn a_gateway_that_comes_back_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = quick();
    settings.push.as_mut().expect("it is on").folder = Some(folder.path().to_owned());
    let mut stage = Stage::set(card(), settings.clone()).await;
    let mut receiver = Receiver::start([Answer::Status(200), Answer::Hang]).await;
    let sent = with_config("ask", hook(&receiver));
    let task = stage.done("SendMessage", sent).await["task"].take();
    receiver.next().await;
    let under_way = receiver.next().await;

    // What happens meanwhile is in the hub's log.
    stage.restart_gateway(settings).await;
    stage.done("SendMessage", follow_up("blue", &task)).await;
    let posted = receiver.until(COMPLETED).await;
    assert_eq!(
        posted[0].0,
        under_way.header("webhook-id"),
        "it comes again"
    );
    let asks = "statusUpdate INPUT_REQUIRED";
    assert_eq!(shown(&posted), [WORKING, asks, WORKING, COMPLETED]);
    let ids: HashSet<_> = posted.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), posted.len());
    assert!(receiver.is_left_alone().await);
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
