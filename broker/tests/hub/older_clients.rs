//! Behaviour that agents and clients of the original AgentHub rely on, call by call.

use agenthub_proto::{
    a2a::{AgentCard, Message, Role, TaskState},
    agenthub::{
        AgentEventMetadata, PublishMessageRequest, RegisterAgentRequest, agent_event::Payload,
    },
    event::timestamp,
};
use std::time::SystemTime;
use tonic::{Code, Request};

use crate::harness::{TestHub, card, routing, user, within, word, work};

/// An id that ends in the current second.
fn of_second(kind: &str) -> String {
    format!("{kind}_{}", timestamp(SystemTime::now()).seconds)
}

fn answer(task: &str, text: &str) -> Message {
    Message {
        role: Role::Agent.into(),
        ..work(task, text)
    }
}

/// promise 4
#[tokio::test]
async fn ids_of_seconds_are_used_for_several_messages() {
    let hub = TestHub::start().await;
    let mut events = hub.messages("responder").await;
    let id = of_second("msg_chat_request");
    let say = |id: &str, text: &str| Message {
        message_id: id.to_owned(),
        ..user(text)
    };
    for text in ["hi", "hi", "ho"] {
        hub.publish(say(&id, text), routing("repl", "responder"))
            .await;
    }
    let keyed = AgentEventMetadata {
        idempotency_key: "k".into(),
        ..routing("repl", "responder")
    };
    for _ in 0..2 {
        hub.publish(say(&id, "keyed"), keyed.clone()).await;
        hub.publish(say("msg_1", "one"), routing("repl", "responder"))
            .await;
    }
    let texts = hub.texts_so_far("responder", &mut events).await;
    assert_eq!(texts, ["hi", "hi", "ho", "keyed", "one"]);
}

/// Answers to its callers are those of `Connect`.
///
/// promise 4
#[tokio::test]
async fn an_answer_says_where_a_message_is_and_whether_it_was_there_before() {
    let hub = TestHub::start().await;
    let mut events = hub.messages("responder").await;
    let publish = async |text: &str, refuse_known_id: bool| {
        let message = Message {
            message_id: "m1".to_owned(),
            ..user(text)
        };
        let request = PublishMessageRequest {
            message: Some(message),
            routing: Some(routing("repl", "responder")),
            refuse_known_id,
        };
        let answer = within(hub.client.clone().publish_message(request)).await;
        answer.map(tonic::Response::into_inner)
    };
    let first = publish("hi", true).await.expect("accepted");
    assert!(!first.repeated);
    assert_eq!(events.next().await.position, first.position);
    for refuses in [true, false] {
        let again = publish("hi", refuses).await.expect("it is known");
        assert_eq!(
            (again.repeated, &again.event_id, &again.position),
            (true, &first.event_id, &first.position)
        );
    }
    let refused = publish("ho", true).await.expect_err("another message");
    assert_eq!(refused.code(), Code::AlreadyExists);
    let other = publish("ho", false).await.expect("accepted");
    assert!(!other.repeated);
    assert_eq!(events.next().await.position, other.position);
}

/// spec: HUB-7
#[tokio::test]
async fn the_trace_of_a_call_is_taken_from_its_headers() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let hub = TestHub::start().await;
    let mut events = hub.messages("responder").await;
    let publish = async |routing: AgentEventMetadata, header: &str| {
        let mut request = Request::new(PublishMessageRequest {
            message: Some(user("hi")),
            routing: Some(routing),
            ..Default::default()
        });
        let header = header.parse().expect("a header");
        request.metadata_mut().insert("traceparent", header);
        within(hub.client.clone().publish_message(request))
            .await
            .expect("accepted");
    };
    publish(
        routing("repl", "responder"),
        &format!("00-{TRACE}-00f067aa0ba902b7-01"),
    )
    .await;
    assert_eq!(events.next().await.trace_id, TRACE);
    publish(routing("repl", "responder"), "nonsense").await;
    assert_ne!(events.next().await.trace_id, TRACE);
    let own = AgentEventMetadata {
        traceparent: "00-11111111111111111111111111111111-2222222222222222-01".into(),
        ..routing("repl", "responder")
    };
    publish(own, &format!("00-{TRACE}-00f067aa0ba902b7-01")).await;
    assert_eq!(
        events.next().await.trace_id,
        "1".repeat(32),
        "the envelope's own"
    );
}

/// spec: HUB-7
#[tokio::test]
async fn an_agent_that_asks_for_tasks_alone_gets_those_that_waited() {
    let hub = TestHub::start().await;
    let asked = async |task: &str| {
        let message = work(task, "go").with_metadata("task_type", "Echo Messages");
        hub.publish(message, routing("asker", "echo")).await;
    };
    let events = hub.tasks("echo").await;
    drop(events);
    for task in ["t1", "t2", "t3"] {
        asked(task).await;
    }
    hub.report("echo", "t2", TaskState::Completed).await;
    let mut events = hub.tasks("echo").await;
    assert_eq!(events.word().await, "task submitted t1 1");
    assert_eq!(events.word().await, "task submitted t3 1");
    hub.report("echo", "t1", TaskState::Completed).await;
    drop(events);

    let mut events = hub.tasks("echo").await;
    let event = events.next().await;
    assert_eq!(word(&event), "task submitted t3 1", "nobody has ended it");
    let Some(Payload::Task(task)) = event.payload else {
        panic!("no task");
    };
    assert_eq!(task.task_type(), "Echo Messages");
    asked("t4").await;
    assert_eq!(events.word().await, "task submitted t4 1");
    hub.report("echo", "t3", TaskState::Completed).await;

    let mut messages = hub.messages("echo").await;
    let texts = hub.texts_so_far("echo", &mut messages).await;
    assert_eq!(
        texts,
        ["go"],
        "of t4 alone: ended tasks are not waited with"
    );
}

/// spec: HUB-3
#[tokio::test]
async fn who_reports_states_or_asks_for_tasks_does_not_end_a_task_with_a_message() {
    let hub = TestHub::start().await;
    let mut events = hub.messages("asker").await;
    let ask = async |task: &str, agent: &str| {
        hub.publish(work(task, "go"), routing("asker", agent)).await;
        hub.publish(answer(task, "on it"), routing(agent, "asker"))
            .await;
    };
    ask("t1", "plain").await;
    assert_eq!(
        hub.task("t1").await.state(),
        TaskState::Completed,
        "that was its answer"
    );

    let tasks = hub.tasks("subscriber").await;
    ask("t2", "subscriber").await;
    assert_eq!(hub.task("t2").await.state(), TaskState::Submitted);
    hub.report("subscriber", "t2", TaskState::Completed).await;
    drop(tasks);

    hub.publish(work("t3", "go"), routing("asker", "reporter"))
        .await;
    hub.report("reporter", "t3", TaskState::Completed).await;
    ask("t4", "reporter").await;
    assert_eq!(hub.task("t4").await.state(), TaskState::Submitted);
    hub.report("reporter", "t4", TaskState::Completed).await;
    while events.word().await != "message on it" {}
}

/// spec: HUB-2
#[tokio::test]
async fn the_card_of_the_hub_says_where_it_is_and_what_it_does() {
    let hub = TestHub::start().await;
    let card: AgentCard = within(hub.client.clone().get_agent_card(()))
        .await
        .expect("a card")
        .into_inner();
    assert!(card.url.starts_with("http://127.0.0.1:"), "{}", card.url);
    assert_eq!(
        card.provider.map(|p| p.organization).as_deref(),
        Some("AgentHub")
    );
    assert!(!card.version.is_empty());
    assert!(card.skills.iter().any(|s| s.id == "message-routing"));
    assert!(card.skills.iter().any(|s| s.id == "task-coordination"));
}

/// spec: HUB-4
#[tokio::test]
async fn the_same_registration_again_is_no_change_and_event_types_hold_for_the_snapshot() {
    let hub = TestHub::start().await;
    let register = async |description: &str| {
        let request = RegisterAgentRequest {
            agent_card: Some(AgentCard {
                description: description.into(),
                ..card("echo")
            }),
            ..Default::default()
        };
        within(hub.client.clone().register_agent(request))
            .await
            .expect("accepted");
    };
    register("one").await;
    let mut all = hub.agent_events("watcher", &[]).await;
    let mut updates = hub.agent_events("watcher", &["updated"]).await;
    assert_eq!(all.word().await, "registered echo offline (snapshot)");
    register("one").await;
    register("two").await;
    register("three").await;
    for events in [&mut all, &mut updates] {
        for description in ["two", "three"] {
            let event = events.next().await;
            assert_eq!(word(&event), "updated echo offline");
            let Some(Payload::AgentCard(change)) = event.payload else {
                panic!("no card");
            };
            assert_eq!(change.agent_card.expect("a card").description, description);
        }
    }
}
