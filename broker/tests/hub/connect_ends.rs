//! Ends of an agent's lifeline, from either side.

use std::time::Duration;

use agenthub_broker::{Settings, Storage};
use agenthub_proto::agenthub::{AgentFrame, Credit, Goodbye, Heartbeat, Publish, publish};
use tonic::Code;

use crate::{
    harness::{TestHub, card, in_context, routing, user},
    peer::{agent, hello, of_instance},
};

#[tokio::test]
async fn a_silent_peer_is_cut_off_after_the_lease() {
    let hub = TestHub::with(Settings {
        presence_lease: Duration::from_secs(1),
        ..Settings::default()
    })
    .await;
    let mut silent = hub.connect(hello("silent", "i", vec![])).await;
    let mut alive = hub.connect(hello("alive", "i", vec![])).await;
    let ended = alive.beat_while(silent.until_ended()).await;
    assert_eq!(ended.expect_err("cut off").code(), Code::DeadlineExceeded);
    alive.settle().await;
}

/// A peer with credit that reads nothing is disconnected, and misses nothing when it reconnects.
#[tokio::test]
async fn a_peer_that_stops_reading_is_cut_off_and_resumes_without_loss() {
    const COUNT: usize = 40;
    let hub = TestHub::with(Settings {
        connect_stall: Duration::from_millis(200),
        ack_deadline: Duration::from_millis(500),
        ..Settings::default()
    })
    .await;
    let mut stuck = hub.connect(agent("echo", "i", 1000)).await;
    let padding = "x".repeat(200_000);
    for n in 0..COUNT {
        let message = in_context("c", &format!("{n} {padding}"));
        hub.publish(message, routing("asker", "echo")).await;
    }
    crate::harness::until("it is cut off", async || {
        stuck
            .send(AgentFrame {
                heartbeat: Some(Heartbeat {}),
                ..Default::default()
            })
            .await;
        let metrics = agenthub_broker::http_router(hub.server.hub().clone());
        crate::operations::gauge(metrics, "agenthub_streams_cut_off_total")
            .await
            .filter(|n| *n == 1)
    })
    .await;
    let ended = stuck.until_ended().await;
    assert_eq!(ended.expect_err("cut off").code(), Code::Cancelled);
    let mut again = hub.connect(agent("echo", "i", 1000)).await;
    let mut got = std::collections::BTreeSet::new();
    while got.len() < COUNT {
        let (note, event) = again.delivery().await;
        again.acknowledge(&note).await;
        let text = crate::harness::word(&event);
        got.insert(text.split(' ').nth(1).map(str::to_owned));
    }
}

#[tokio::test]
async fn a_second_stream_of_an_instance_takes_the_place_of_the_first() {
    let hub = TestHub::start().await;
    let mut watcher = hub
        .agent_events("cortex", &["offline", "unregistered"])
        .await;
    let mut first = hub.connect(agent("echo", "i", 9)).await;
    let mut second = hub.connect(agent("echo", "i", 9)).await;
    assert!(first.until_ended().await.is_ok());
    assert!(!first.goodbye.take().expect("said").reconnect);
    hub.publish(user("hi"), routing("asker", "echo")).await;
    assert_eq!(second.word().await, "message hi");
    second.settle().await;
    hub.register(card("mark"), &[]).await;
    crate::harness::within(hub.client.clone().unregister_agent(
        agenthub_proto::agenthub::UnregisterAgentRequest {
            agent_id: "mark".into(),
            ..Default::default()
        },
    ))
    .await
    .expect("removed");
    assert_eq!(watcher.word().await, "unregistered mark offline");
}

/// The first stream's goodbye does not affect the instance, which has a new stream by then.
#[tokio::test]
async fn the_goodbye_of_a_replaced_stream_does_not_end_the_instance() {
    let hub = TestHub::start().await;
    let first = hub
        .connect(hello("echo", "i", vec![of_instance("own", 0)]))
        .await;
    let mut second = hub
        .connect(hello("echo", "i", vec![of_instance("own", 9)]))
        .await;
    first.say_goodbye().await;
    hub.publish(user("hi"), routing("asker", "echo")).await;
    assert_eq!(second.word().await, "message hi");
}

/// Accepted publishes are answered first, though the disk is slow.
#[tokio::test]
async fn a_peer_that_sends_no_more_has_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = TestHub::with(Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        ..Settings::default()
    })
    .await;
    for round in 0..10 {
        let mut peer = hub.connect(hello("asker", "i", vec![])).await;
        for number in 0..20 {
            let said = publish::Payload::Message(user(&format!("{round}-{number}")));
            peer.publish_only(said, routing("", "echo")).await;
        }
        peer.close();
        assert!(peer.until_ended().await.is_ok());
        let results = peer.results.iter().map(|result| result.sequence);
        assert!(results.eq(1..=20), "{:?}", peer.results);
    }
}

/// The publishes of a frame are answered, whatever else is wrong with it, also in the first one.
#[tokio::test]
async fn a_peer_that_breaks_the_protocol_has_its_results() {
    let hub = TestHub::start().await;
    let said = publish::Payload::Message(user("hi"));
    let frame = AgentFrame {
        publish: vec![Publish {
            sequence: 7,
            payload: Some(said),
            routing: Some(routing("", "echo")),
            ..Publish::default()
        }],
        credit: vec![Credit {
            subscription: 1,
            messages: 1,
        }],
        ..AgentFrame::default()
    };
    let first = AgentFrame {
        hello: Some(hello("other", "i", vec![])),
        ..frame.clone()
    };
    let at_once = crate::peer::try_connect(&hub.client, first).await;
    let later = hub.connect(hello("asker", "i", vec![])).await;
    later.send(frame).await;
    for mut peer in [at_once.expect("it is let in"), later] {
        let ended = peer.until_ended().await;
        assert_eq!(ended.expect_err("refused").code(), Code::InvalidArgument);
        let results = peer.results.iter().map(|r| (r.sequence, r.code));
        assert!(results.eq([(7, 0)]), "{:?}", peer.results);
    }
}

/// promise 10: publishes beyond the credit are not decoded.
#[tokio::test]
async fn a_frame_that_publishes_too_much_is_taken_as_far_as_the_credit_goes() {
    let hub = TestHub::with(Settings {
        publish_credit: 2,
        ..Settings::default()
    })
    .await;
    let mut echo = hub.connect(agent("echo", "i", 9)).await;
    let publish = |sequence| Publish {
        sequence,
        payload: Some(publish::Payload::Message(user(&sequence.to_string()))),
        routing: Some(routing("", "echo")),
        ..Publish::default()
    };
    let mut peer = hub.connect(hello("asker", "i", vec![])).await;
    peer.send(AgentFrame {
        publish: (1..=3).map(publish).collect(),
        ..AgentFrame::default()
    })
    .await;
    let ended = peer.until_ended().await;
    assert_eq!(ended.expect_err("refused").code(), Code::ResourceExhausted);
    let results = peer.results.iter().map(|r| (r.sequence, r.code));
    assert!(results.eq([(1, 0), (2, 0)]), "{:?}", peer.results);
    assert_eq!(echo.words_so_far().await, ["message 1", "message 2"]);
}

/// The same if the hub ends the stream, here for another one of the instance.
#[tokio::test]
async fn a_peer_whose_place_is_taken_has_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = TestHub::with(Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        ..Settings::default()
    })
    .await;
    let mut echo = hub.connect(agent("echo", "i", 1000)).await;
    for round in 0..20 {
        let mut first = hub.connect(hello("asker", "i", vec![])).await;
        for number in 0..20 {
            let said = publish::Payload::Message(user(&format!("{round}-{number}")));
            first.publish_only(said, routing("", "echo")).await;
        }
        let mut second = hub.connect(hello("asker", "i", vec![])).await;
        assert!(first.until_ended().await.is_ok());
        // Earlier accepted messages are delivered before this one.
        let last = user(&format!("{round}-last"));
        second.publish(last, routing("", "echo")).await;
        echo.settle().await;
        let accepted = echo.deliveries.len() - 1;
        echo.deliveries.clear();
        assert_eq!(first.results.len(), accepted, "in round {round}");
    }
}

/// The same for the first frame.
#[tokio::test]
async fn a_peer_may_say_goodbye_at_once() {
    let hub = TestHub::start().await;
    let first = AgentFrame {
        hello: Some(hello("asker", "i", vec![])),
        goodbye: Some(Goodbye::default()),
        ..AgentFrame::default()
    };
    let peer = crate::peer::try_connect(&hub.client, first).await;
    let ended = peer.expect("it is let in").until_ended().await;
    assert!(ended.is_ok());
}

/// A half-closed stream is closed by both.
#[tokio::test]
async fn a_peer_that_sends_no_more_is_let_go() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(hello("echo", "i", vec![])).await;
    peer.close();
    assert!(peer.until_ended().await.is_ok());
}
