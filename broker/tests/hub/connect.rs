//! An agent's lifeline: hello, publishing, credit, acknowledging.

use std::time::Duration;

use agenthub_broker::Settings;
use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{Ack, AgentFrame, Extension, Filter, Hello, Publish, publish},
};
use tonic::Code;

use crate::{
    harness::{TestHub, card, in_context, routing, status, until, user, within, work},
    peer::{Peer, agent, durable, filtered, hello, of_instance, try_connect},
};

async fn refused(hub: &TestHub, hello: Hello) -> (Code, String) {
    let first = AgentFrame {
        hello: Some(hello),
        ..Default::default()
    };
    let status = try_connect(&hub.client, first)
        .await
        .err()
        .expect("refused");
    (status.code(), status.message().to_owned())
}

#[tokio::test]
async fn a_good_hello_is_welcome_and_registers_the_agent() {
    let hub = TestHub::start().await;
    let mut watcher = hub.agent_events("cortex", &[]).await;
    let peer = hub.connect(agent("echo", "i", 1)).await;
    let welcome = &peer.welcome;
    assert_eq!(welcome.agent_id, "echo");
    assert!(!welcome.hub_incarnation.is_empty());
    assert_eq!(welcome.publish_credit, Settings::default().publish_credit);
    assert_eq!(welcome.ack_deadline.as_ref().map(|d| d.seconds), Some(30));
    assert_eq!(
        welcome.heartbeat_interval.as_ref().map(|d| d.seconds),
        Some(3)
    );
    assert_eq!(watcher.word().await, "registered echo online");
}

#[tokio::test]
async fn a_bad_hello_is_refused_with_its_reason() {
    let hub = TestHub::start().await;
    let good = || hello("echo", "i", vec![]);
    let cases = [
        Hello {
            protocol_version: 3,
            ..good()
        },
        hello("", "i", vec![]),
        hello("echo", "", vec![]),
        hello("e\ncho", "i", vec![]),
        Hello {
            agent_card: Some(card("other")),
            ..good()
        },
        Hello {
            agent_id: String::new(),
            agent_card: Some(card("agents")),
            ..good()
        },
        hello("echo", "i", vec![durable("a", 1), of_instance("a", 1)]),
        hello("echo", "i", vec![durable("", 1)]),
        hello(
            "echo",
            "i",
            vec![agenthub_proto::agenthub::Subscription {
                lifetime: 0,
                ..durable("a", 1)
            }],
        ),
        hello(
            "echo",
            "i",
            vec![filtered(
                durable("a", 1),
                Filter {
                    kinds: vec![5],
                    ..Default::default()
                },
            )],
        ),
        hello(
            "echo",
            "i",
            vec![filtered(
                durable("a", 1),
                Filter {
                    kinds: vec![99],
                    ..Default::default()
                },
            )],
        ),
        hello(
            "echo",
            "i",
            (0..65).map(|n| durable(&n.to_string(), 1)).collect(),
        ),
    ];
    let mut table = Vec::new();
    for hello in cases {
        let (code, message) = refused(&hub, hello).await;
        table.push(format!("{code:?}: {message}"));
    }
    let first = try_connect(&hub.client, AgentFrame::default()).await;
    let status = first.err().expect("refused");
    table.push(format!("{:?}: {}", status.code(), status.message()));
    insta::assert_snapshot!(table.join("\n"));
    let mut client = hub.client.clone();
    let request = crate::harness::timed(agenthub_proto::agenthub::ListAgentsRequest::default());
    let agents = client.list_agents(request).await.expect("a page");
    let agents = agents.into_inner().agents;
    assert!(agents.is_empty(), "nothing refused stays: {agents:?}");
}

#[tokio::test]
async fn a_second_hello_ends_the_stream() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(hello("echo", "i", vec![])).await;
    peer.send(AgentFrame {
        hello: Some(hello("echo", "i", vec![])),
        ..Default::default()
    })
    .await;
    let ended = peer.until_ended().await.expect_err("with a status");
    assert_eq!(ended.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn results_come_in_order_and_name_their_publish() {
    let hub = TestHub::start().await;
    let mut stream = hub.messages("echo").await;
    let mut peer = hub.connect(hello("asker", "i", vec![])).await;
    let publish = |sequence: u64, message: Message| Publish {
        sequence,
        payload: Some(publish::Payload::Message(message)),
        routing: Some(routing("", "echo")),
        ..Publish::default()
    };
    let bad = Message {
        message_id: String::new(),
        ..user("bad")
    };
    peer.send(AgentFrame {
        publish: vec![
            publish(7, user("one")),
            publish(8, bad),
            publish(9, user("two")),
            Publish {
                routing: Some(routing("somebody else", "echo")),
                ..publish(10, user("three"))
            },
            Publish {
                sequence: 11,
                ..Default::default()
            },
        ],
        ..Default::default()
    })
    .await;
    let mut got = Vec::new();
    for _ in 0..5 {
        let result = peer.result().await;
        assert_eq!(result.code == 0, result.error.is_empty());
        assert_eq!(result.code == 0, !result.position.is_empty());
        got.push((result.sequence, Code::from_i32(result.code)));
    }
    assert_eq!(
        got,
        [
            (7, Code::Ok),
            (8, Code::InvalidArgument),
            (9, Code::Ok),
            (10, Code::PermissionDenied),
            (11, Code::InvalidArgument)
        ]
    );
    assert_eq!(stream.text().await, "one");
    let event = stream.next().await;
    assert_eq!(event.sender(), "asker");
}

#[tokio::test]
async fn the_same_publish_again_is_the_same_event() {
    let hub = TestHub::start().await;
    let mut stream = hub.messages("echo").await;
    let mut peer = hub.connect(hello("asker", "i", vec![])).await;
    let message = in_context("c", "once");
    let first = peer.publish(message.clone(), routing("", "echo")).await;
    let again = peer.publish(message.clone(), routing("", "echo")).await;
    assert_eq!(first.code, 0);
    assert_eq!(
        (&first.event_id, &first.position, 0),
        (&again.event_id, &again.position, again.code)
    );
    let other = Message {
        message_id: message.message_id.clone(),
        ..in_context("c", "another")
    };
    let refused = peer.publish(other.clone(), routing("", "echo")).await;
    assert_eq!(Code::from_i32(refused.code), Code::AlreadyExists);
    let forwarded = peer.publish(message, routing("", "another")).await;
    assert_eq!(Code::from_i32(forwarded.code), Code::AlreadyExists);
    // Older clients make their ids from seconds: there it is another event.
    hub.publish(other, routing("asker", "echo")).await;
    assert_eq!(stream.text().await, "once");
    assert_eq!(stream.text().await, "another");
}

#[tokio::test]
async fn a_known_id_is_forgotten_after_the_window() {
    let hub = TestHub::with(Settings {
        dedupe_window: Duration::from_millis(100),
        ..Settings::default()
    })
    .await;
    let mut peer = hub.connect(hello("asker", "i", vec![])).await;
    let message = in_context("c", "once");
    let first = peer.publish(message.clone(), routing("", "echo")).await;
    until("it is another event", async || {
        let again = peer.publish(message.clone(), routing("", "echo")).await;
        (again.position != first.position).then_some(())
    })
    .await;
}

#[tokio::test]
async fn credit_is_honoured_exactly() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(agent("echo", "i", 2)).await;
    for n in 0..10 {
        hub.publish(user(&n.to_string()), routing("asker", "echo"))
            .await;
    }
    assert_eq!(peer.words_so_far().await, ["message 0", "message 1"]);
    peer.give_credit(0, 3).await;
    assert_eq!(
        peer.words_so_far().await,
        ["message 2", "message 3", "message 4"]
    );
    peer.give_credit(0, 0).await;
    assert_eq!(peer.words_so_far().await, [""; 0]);
    peer.give_credit(0, u32::MAX).await;
    assert_eq!(peer.words_so_far().await.len(), 5);
    peer.give_credit(1, 1).await;
    let ended = peer.until_ended().await.expect_err("there is no such one");
    assert_eq!(ended.code(), Code::InvalidArgument);
}

/// Each subscription has its own credit, and a busy one does not block the other.
#[tokio::test]
async fn subscriptions_have_credit_of_their_own() {
    let hub = TestHub::start().await;
    let kinds = |kind: i32| Filter {
        kinds: vec![kind],
        ..Default::default()
    };
    let mut peer = hub
        .connect(hello(
            "worker",
            "i",
            vec![
                filtered(durable("messages", 0), kinds(1)),
                filtered(durable("tasks", 1), kinds(2)),
            ],
        ))
        .await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    peer.settle().await;
    let (note, event) = peer.deliveries.pop_front().expect("one");
    assert_eq!(crate::harness::word(&event), "task submitted t 1");
    assert_eq!((note.subscription, note.attempt), (1, 1));
    assert!(peer.deliveries.is_empty());
}

#[tokio::test]
async fn what_is_acknowledged_never_comes_again_and_what_is_refused_does() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(agent("echo", "i", 9)).await;
    for text in ["handled", "refused"] {
        hub.publish(user(text), routing("asker", "echo")).await;
    }
    let (handled, _) = peer.delivery().await;
    let (refused, _) = peer.delivery().await;
    peer.acknowledge(&handled).await;
    let start = std::time::Instant::now();
    peer.refuse(&refused, Duration::from_millis(200)).await;
    assert_eq!(peer.word().await, "message refused (attempt 2)");
    assert!(start.elapsed() >= Duration::from_millis(200));

    peer.say_goodbye().await;
    let mut next = hub.connect(agent("echo", "i2", 9)).await;
    assert_eq!(next.words_so_far().await, ["message refused (attempt 3)"]);
}

#[tokio::test]
async fn what_is_not_acknowledged_comes_again_unless_it_is_extended() {
    let hub = TestHub::with(Settings {
        ack_deadline: Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    let mut peer = hub.connect(agent("echo", "i", 9)).await;
    for text in ["slow", "lost"] {
        hub.publish(user(text), routing("asker", "echo")).await;
    }
    let (slow, _) = peer.delivery().await;
    let (_lost, _) = peer.delivery().await;
    let mut came: Vec<String> = Vec::new();
    within(async {
        while came.len() < 2 {
            peer.send(AgentFrame {
                extend: vec![Extension {
                    subscription: 0,
                    position: vec![slow.position.clone()],
                }],
                ..Default::default()
            })
            .await;
            came.extend(peer.words_so_far().await);
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    })
    .await;
    assert_eq!(
        came,
        ["message lost (attempt 2)", "message lost (attempt 3)"]
    );
}

/// An acknowledgement after the deadline counts while nobody else has the delivery.
#[tokio::test]
async fn a_late_acknowledgement_counts() {
    let hub = TestHub::with(Settings {
        ack_deadline: Duration::from_millis(150),
        ..Settings::default()
    })
    .await;
    let mut peer = hub.connect(agent("echo", "i", 1)).await;
    hub.publish(user("slow"), routing("asker", "echo")).await;
    let (note, _) = peer.delivery().await;
    peer.beat_while(tokio::time::sleep(Duration::from_millis(400)))
        .await;
    peer.acknowledge(&note).await;
    peer.settle().await;
    peer.give_credit(0, 9).await;
    assert_eq!(peer.words_so_far().await, [""; 0]);
}

/// A frame's acknowledgements count only if all its publishes were accepted.
#[tokio::test]
async fn publishing_and_acknowledging_commit_together() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(agent("worker", "i", 9)).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let (note, _) = peer.delivery().await;
    let frame = |state| AgentFrame {
        publish: vec![Publish {
            sequence: 1,
            payload: Some(publish::Payload::StatusUpdate(status("t", state))),
            routing: Some(routing("", "")),
            ..Publish::default()
        }],
        ack: vec![Ack {
            subscription: 0,
            position: vec![note.position.clone()],
        }],
        ..Default::default()
    };
    peer.send(frame(TaskState::Unspecified)).await;
    assert_ne!(peer.result().await.code, 0);
    // Still leased to this instance: it can be refused, and is redelivered.
    peer.refuse(&note, Duration::ZERO).await;
    assert_eq!(
        peer.words_so_far().await,
        ["task submitted t 1", "message go (attempt 2)"]
    );
    peer.send(frame(TaskState::Working)).await;
    assert_eq!(peer.result().await.code, 0);
    peer.refuse(&note, Duration::ZERO).await;
    assert_eq!(peer.words_so_far().await, [""; 0]);
}

/// Positions of an earlier hub are ignored.
#[tokio::test]
async fn acknowledging_a_position_of_another_log_is_tolerated() {
    let hub = TestHub::start().await;
    let mut peer: Peer = hub.connect(agent("echo", "i", 9)).await;
    peer.send(AgentFrame {
        ack: vec![Ack {
            subscription: 0,
            position: vec!["00000000-7".into()],
        }],
        ..Default::default()
    })
    .await;
    peer.settle().await;
    peer.send(AgentFrame {
        ack: vec![Ack {
            subscription: 0,
            position: vec!["garbage".into()],
        }],
        ..Default::default()
    })
    .await;
    let ended = peer.until_ended().await.expect_err("it is no position");
    assert_eq!(ended.code(), Code::InvalidArgument);
}
