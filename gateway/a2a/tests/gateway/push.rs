//! Push notifications: their configurations, and what receivers get.

mod configurations;
mod receivers;

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
