use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use agenthub_sdk::testing::TestHub;
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::*;
use crate::{
    Bus, BusError, Consumer, Delivery, Group, Groups, HubBus, HubGroups, MemoryBus, Message,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn task() -> TaskRequest {
    TaskRequest {
        run_id: "r".to_owned(),
        task_id: "t".to_owned(),
        agent_name: "agent_echo".to_owned(),
        input_claim_check: "file:///in".to_owned(),
        correlation_id: "c".to_owned(),
    }
}

fn result() -> TaskResult {
    TaskResult {
        run_id: "r".to_owned(),
        task_id: "t".to_owned(),
        status: Outcome::Failed,
        output_claim_check: None,
        correlation_id: "c".to_owned(),
        error_message: Some("503".to_owned()),
    }
}

fn update() -> MonitoringUpdate {
    MonitoringUpdate {
        run_id: "r".to_owned(),
        step_name: "draft".to_owned(),
        status: StepStatus::Running,
        timestamp: "1970-01-01T00:00:01.500Z".to_owned(),
        metadata: [("attempt".to_owned(), json!(1))].into_iter().collect(),
    }
}

fn chunk() -> StreamChunk {
    StreamChunk {
        run_id: "r".to_owned(),
        agent_name: "agent_echo".to_owned(),
        sequence: 1,
        content: "he".to_owned(),
        is_end_of_stream: false,
    }
}

fn envelope() -> Envelope {
    Envelope {
        id: "e".to_owned(),
        source: "/agenthub/workflows".to_owned(),
        time: SystemTime::UNIX_EPOCH,
        traceparent: None,
        task_id: None,
    }
}

fn sent<B: Body>(body: &B) -> Value {
    message(body, envelope()).value().expect("JSON")
}

/// A message that says `body`, of the run `r`.
fn saying(body: &Value) -> Message {
    Message::json("e", "r", body)
}

/// spec: EXE-10.1, EXE-10.2, EXE-10.3, EXE-10.4
#[test]
fn bodies_have_exactly_the_fields_that_are_written() {
    assert_eq!(
        sent(&task()),
        json!({"run_id": "r", "task_id": "t", "agent_name": "agent_echo", "input_claim_check": "file:///in", "correlation_id": "c"})
    );
    assert_eq!(
        sent(&result()),
        json!({"run_id": "r", "task_id": "t", "status": "FAILED", "output_claim_check": null, "correlation_id": "c", "error_message": "503"})
    );
    assert_eq!(
        sent(&update()),
        json!({"run_id": "r", "step_name": "draft", "status": "RUNNING", "timestamp": "1970-01-01T00:00:01.500Z", "metadata": {"attempt": 1}})
    );
    assert_eq!(
        sent(&chunk()),
        json!({"run_id": "r", "agent_name": "agent_echo", "sequence": 1, "content": "he", "is_end_of_stream": false})
    );
}

/// spec: EXE-3.4
#[test]
fn the_envelope_is_a_cloud_event_of_the_run() {
    let sent = message(
        &chunk(),
        Envelope {
            traceparent: Some("00-a-b-01".to_owned()),
            task_id: Some("t".to_owned()),
            ..envelope()
        },
    );
    assert_eq!((&*sent.id, &*sent.key), ("e", "r"));
    let headers: BTreeMap<&str, &str> = sent.headers.iter().map(|(k, v)| (&**k, &**v)).collect();
    let expected = [
        ("ce_source", "/agenthub/workflows"),
        ("ce_specversion", "1.0"),
        ("ce_time", "1970-01-01T00:00:00Z"),
        ("ce_type", "agenthub.task.streamed"),
        ("content-type", "application/json"),
        ("schema_version", "1"),
        ("task_id", "t"),
        ("traceparent", "00-a-b-01"),
    ];
    assert_eq!(headers, expected.into());
    let without = message(&task(), envelope());
    assert!(!without.headers.contains_key("traceparent"));
}

/// spec: EXE-10.5
#[test]
fn bodies_that_fit_are_read_and_others_are_refused_with_the_place() {
    assert_eq!(read(&message(&task(), envelope())), Ok(task()));
    assert_eq!(read(&message(&result(), envelope())), Ok(result()));
    assert_eq!(read(&message(&update(), envelope())), Ok(update()));
    assert_eq!(read(&message(&chunk(), envelope())), Ok(chunk()));

    let refused = |change: &dyn Fn(&mut Value)| {
        let mut body = sent(&result());
        change(&mut body);
        read::<TaskResult>(&saying(&body)).expect_err("it does not fit")
    };
    let missing = refused(&|body| drop(body.as_object_mut().map(|b| b.remove("task_id"))));
    assert!(missing.contains("task_id"), "{missing}");
    let missing =
        refused(&|body| drop(body.as_object_mut().map(|b| b.remove("output_claim_check"))));
    assert!(missing.contains("output_claim_check"), "{missing}");
    let wrong = refused(&|body| body["status"] = json!("DONE"));
    assert!(wrong.contains("status"), "{wrong}");
    let empty = refused(&|body| body["correlation_id"] = json!(""));
    assert!(empty.contains("correlation_id"), "{empty}");
    refused(&|body| body["error_message"] = Value::Null);
    refused(&|body| body["status"] = json!("COMPLETED"));
    refused(&|body| body["run_id"] = json!("another"));
    let late = json!({"run_id": "r", "step_name": "s", "status": "FAILED", "timestamp": "noon", "metadata": {}});
    let late = read::<MonitoringUpdate>(&saying(&late)).expect_err("no time");
    assert!(late.contains("timestamp"), "{late}");
    let first = json!({"run_id": "r", "agent_name": "a", "sequence": 0, "content": "", "is_end_of_stream": true});
    read::<StreamChunk>(&saying(&first)).expect_err("they begin at 1");
    let text = Message {
        body: "{".into(),
        ..saying(&Value::Null)
    };
    let text = read::<TaskRequest>(&text).expect_err("no JSON");
    assert!(text.contains("no JSON"), "{text}");
}

#[test]
fn a_newer_publisher_is_understood_unless_it_says_that_it_is_not() {
    let mut body = sent(&task());
    body["priority"] = json!(7);
    let mut newer = saying(&body);
    assert_eq!(read(&newer), Ok(task()));
    newer
        .headers
        .insert(SCHEMA_VERSION.to_owned(), "2".to_owned());
    let why = read::<TaskRequest>(&newer).expect_err("another version");
    assert!(why.contains("\"2\""), "{why}");
}

/// spec: EXE-6.2
#[test]
fn each_agent_has_a_topic_of_its_stream() {
    assert_eq!(stream_topic("agent_echo"), "stream.agent_echo");
    let strange = stream_topic("An agent / with ümlauts");
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    assert!(strange.chars().all(is_legal), "{strange}");
}

/// spec: EXE-10.5
#[tokio::test]
async fn what_does_not_fit_is_put_aside_with_the_reason_and_the_next_one_is_read() {
    let hub = TestHub::start().await;
    let bus = Arc::new(HubBus::new(hub.client().await));
    let groups = Arc::new(HubGroups::new(hub.url()));
    let dead = Group::new("dead", [dead_letters(TASKS)]);
    let mut dead = groups.join(dead).await.expect("a hub");
    let inbox = Inbox::<TaskRequest>::join(groups, Group::new("bridges", [TASKS]), bus.clone());
    let mut inbox = inbox.await.expect("a hub");

    let strange = Message {
        id: "strange".to_owned(),
        ..saying(&json!({"run_id": "r", "do": "what I mean"}))
    };
    let right = message(&task(), envelope());
    bus.publish(TASKS, &[strange.clone(), right])
        .await
        .expect("it is taken");
    let next = timeout(PATIENCE, inbox.next()).await.expect("it comes");
    let (body, delivery) = next.expect("it goes on");
    assert_eq!(body, task());
    delivery.acknowledge();
    let put_aside = timeout(PATIENCE, dead.next()).await.expect("it comes");
    let put_aside = put_aside.expect("it is put aside").message;
    assert_eq!(
        (&*put_aside.id, put_aside.value()),
        ("strange.dlq", strange.value())
    );
    let reason = &put_aside.headers[REASON];
    assert!(reason.contains("task_id"), "{reason}");
}

/// Groups that have no member for long: each gets one message, and is then away.
#[derive(Debug, Default)]
struct Forgetful(AtomicUsize);

#[async_trait]
impl Groups for Forgetful {
    async fn join(&self, group: Group) -> Result<Consumer, BusError> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        if number == 1 {
            return Err(BusError::Unavailable("it starts again".to_owned()));
        }
        let (sender, deliveries) = mpsc::channel(2);
        let id = format!("task-{number}");
        let message = message(&task(), Envelope { id, ..envelope() });
        let delivery = Delivery::new(group.topics[0].clone(), message, || {});
        let gone = BusError::Unavailable("there is no such member".to_owned());
        sender.try_send(Ok(delivery)).expect("there is room");
        sender.try_send(Err(gone)).expect("there is room");
        Ok(Consumer::new(deliveries, async {}))
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_the_bus_has_no_more_joins_again() {
    let groups = Arc::<Forgetful>::default();
    let group = Group::new("bridges", [TASKS]);
    let inbox = Inbox::<TaskRequest>::join(groups, group, Arc::<MemoryBus>::default());
    let mut inbox = inbox.await.expect("it joins");
    for id in ["task-0", "task-2"] {
        let next = timeout(PATIENCE, inbox.next()).await.expect("it comes");
        let (_, delivery) = next.expect("it goes on");
        assert_eq!(delivery.message.id, id);
    }
}

/// Groups whose members are away at once, and take a second to leave.
#[derive(Debug, Default)]
struct Slow {
    joined: AtomicUsize,
    left: Arc<AtomicUsize>,
}

#[async_trait]
impl Groups for Slow {
    async fn join(&self, _: Group) -> Result<Consumer, BusError> {
        let (joined, left) = (&self.joined, Arc::clone(&self.left));
        let earlier = joined.fetch_add(1, Ordering::Relaxed);
        assert_eq!(left.load(Ordering::Relaxed), earlier, "two of one name");
        let (_, deliveries) = mpsc::channel(1);
        Ok(Consumer::new(deliveries, async move {
            sleep(Duration::from_secs(1)).await;
            left.fetch_add(1, Ordering::Relaxed);
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_joins_again_when_the_earlier_one_has_left_however_often_the_wait_is_given_up() {
    let groups = Arc::<Slow>::default();
    let group = Group::new("bridges", [TASKS]);
    let inbox = Inbox::<TaskRequest>::join(groups.clone(), group, Arc::<MemoryBus>::default());
    let mut inbox = inbox.await.expect("it joins");
    while groups.joined.load(Ordering::Relaxed) < 3 {
        let moment = Duration::from_millis(10);
        let next = timeout(moment, inbox.next()).await;
        assert!(next.is_err(), "there is no message");
    }
    inbox.leave().await;
    assert_eq!(groups.left.load(Ordering::Relaxed), 3);
}
