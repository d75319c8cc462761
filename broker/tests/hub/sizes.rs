//! Responses to requests that are too large, and to the largest that are not.

use agenthub_proto::{
    a2a::{AgentCard, Artifact, Message, Part, Role, TaskState},
    agenthub::{AgentEventMetadata, GetTaskRequest, SubscribeToMessagesRequest},
    json,
};
use serde_json::json;

use crate::{
    errors::Table,
    harness::{TestHub, artifact, card, routing, status, timed, user, work},
};

/// Limits of a message, a card and an envelope, each with the maximum valid value where that is easy to reach.
#[tokio::test]
async fn bounds_are_enforced_and_named() {
    let hub = TestHub::start().await;
    hub.publish(work("open", "go"), routing("asker", "worker"))
        .await;
    let mut t = Table(hub, Vec::new());
    let asker = || Some(routing("asker", ""));
    let sized = |bytes: usize| Message {
        message_id: "m".into(),
        content: vec![Part::text("x".repeat(bytes))],
        ..Default::default()
    };
    t.message(
        "1 MiB less 100 bytes",
        Some(sized(1024 * 1024 - 100)),
        asker(),
    )
    .await;
    t.message("1 MiB of text", Some(sized(1024 * 1024)), asker())
        .await;
    let nested = |levels: usize| {
        let data = (1..levels).fold(json!({"a": 1}), |inner, _| json!({ "a": inner }));
        Message {
            content: vec![Part::data(&data)],
            ..user("")
        }
    };
    t.message("content as deep as allowed", Some(nested(30)), asker())
        .await;
    t.message("content one level deeper", Some(nested(31)), asker())
        .await;
    t.message(
        "16 KiB of metadata",
        Some(user("").with_metadata("k", "x".repeat(16 * 1024))),
        asker(),
    )
    .await;
    t.message(
        "an id with a line break",
        Some(Message {
            message_id: "a\nb".into(),
            ..user("")
        }),
        asker(),
    )
    .await;
    t.message(
        "an id of 257 bytes",
        Some(Message {
            context_id: "x".repeat(257),
            ..user("")
        }),
        asker(),
    )
    .await;
    let hops = |hops| {
        Some(AgentEventMetadata {
            hops,
            ..routing("asker", "")
        })
    };
    t.message("16 hops", Some(user("")), hops(16)).await;
    t.message("17 hops", Some(user("")), hops(17)).await;
    let foreign = AgentEventMetadata {
        namespace: "theirs".into(),
        ..routing("asker", "")
    };
    t.message("another namespace", Some(user("")), Some(foreign))
        .await;
    let topics = AgentEventMetadata {
        subscriptions: vec!["x".repeat(1024); 16],
        ..routing("asker", "")
    };
    t.message("16 KiB of topics", Some(user("")), Some(topics))
        .await;
    let described = |bytes: usize| {
        Some(AgentCard {
            description: "x".repeat(bytes),
            ..card("big")
        })
    };
    t.register(
        "a card of 64 KiB less 200 bytes",
        described(64 * 1024 - 200),
    )
    .await;
    t.register("a card of more than 64 KiB", described(64 * 1024))
        .await;
    t.register("a name of 129 bytes", Some(card(&"x".repeat(129))))
        .await;
    let mut deep = status("open", TaskState::Working);
    if let Some(status) = &mut deep.status {
        status.update = Some(nested(31));
    }
    t.update(
        "a status with deep content",
        Some(deep),
        Some(routing("worker", "")),
    )
    .await;
    let mut many = artifact("open", "");
    many.artifact = Some(Artifact {
        metadata: Some(json::to_struct(&json!({ "k": "x".repeat(16 * 1024) }))),
        ..Default::default()
    });
    t.artifact(
        "an artifact with 16 KiB of metadata",
        Some(many),
        Some(routing("worker", "")),
    )
    .await;
    insta::assert_snapshot!(t.1.join("\n"));
}

/// A status is sent in a header, which is small: long texts are truncated.
#[tokio::test]
async fn a_long_id_is_quoted_in_part() {
    let hub = TestHub::start().await;
    let request = GetTaskRequest {
        task_id: "ä".repeat(20_000),
        history_length: 0,
    };
    let answer = hub.client.clone().get_task(timed(request)).await;
    assert_eq!(answer.expect_err("unknown").code(), tonic::Code::NotFound);
    let request = SubscribeToMessagesRequest {
        agent_id: "a".into(),
        after: "ä".repeat(20_000),
        ..Default::default()
    };
    let answer = hub
        .client
        .clone()
        .subscribe_to_messages(timed(request))
        .await;
    let status = answer.expect_err("no position");
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert!(status.message().ends_with('…'), "{}", status.message());
    let request = SubscribeToMessagesRequest {
        agent_id: "a".into(),
        contexts: vec!["c".into(); 1001],
        ..Default::default()
    };
    let answer = hub
        .client
        .clone()
        .subscribe_to_messages(timed(request))
        .await;
    let status = answer.expect_err("too much");
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
}

/// Accepted content can be read: the deepest valid nesting arrives in every form of an event.
#[tokio::test]
async fn the_deepest_content_reaches_every_kind_of_subscriber() {
    let hub = TestHub::start().await;
    let mut events = hub.agent_events("worker", &["message", "task"]).await;
    let mut peer = hub
        .connect(crate::peer::hello(
            "worker",
            "i",
            vec![crate::peer::durable("work", 9)],
        ))
        .await;
    let mut deepest = 0;
    for levels in 1..=40 {
        let data = (1..levels).fold(json!({"a": 1}), |inner, _| json!({ "a": inner }));
        let message = Message {
            content: vec![Part::data(&data)],
            task_id: format!("t{levels}"),
            ..Message::new(Role::User, "")
        };
        match hub.try_publish(message, routing("asker", "worker")).await {
            Err(_) => break,
            Ok(_) => deepest = levels,
        }
        assert_eq!(events.word().await, "message ");
        assert_eq!(
            events.word().await,
            format!("task submitted t{levels} 1"),
            "{levels} levels"
        );
        peer.give_credit(0, 2).await;
        peer.delivery().await;
        peer.delivery().await;
    }
    assert_eq!(deepest, 30, "the bound is what stops it");
}
