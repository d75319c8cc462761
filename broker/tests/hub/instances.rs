//! Several processes of one agent: sharing, leases, versions.

use std::time::Duration;

use agenthub_broker::Settings;
use agenthub_proto::{
    a2a::AgentCard,
    agenthub::{GetAgentRequest, Hello},
};

use crate::{
    harness::{TestHub, card, in_context, routing, user, within},
    peer::{agent, durable, hello, of_instance},
};

const LEASE: Duration = Duration::from_secs(1);

fn short_lease() -> Settings {
    Settings {
        presence_lease: LEASE,
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_reconnecting_instance_keeps_the_deliveries_that_it_claims() {
    let hub = TestHub::with(short_lease()).await;
    let mut peer = hub.connect(agent("echo", "i", 9)).await;
    hub.publish(user("hi"), routing("asker", "echo")).await;
    let (note, _) = peer.delivery().await;
    drop(peer);
    let mut again = hub.reconnect(agent("echo", "i", 9), &[&note]).await;
    let mut other = hub.connect(agent("echo", "other", 9)).await;
    // Longer than the lease: nothing comes.
    other
        .beat_while(again.beat_while(tokio::time::sleep(LEASE + LEASE / 2)))
        .await;
    assert_eq!(other.words_so_far().await, [""; 0]);
    assert_eq!(again.words_so_far().await, [""; 0]);
    again.acknowledge(&note).await;
    again.settle().await;
    again.say_goodbye().await;
    assert_eq!(other.words_so_far().await, [""; 0], "it was handled");
}

#[tokio::test]
async fn what_a_broken_stream_lost_comes_again_at_once() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(agent("echo", "i", 9)).await;
    for text in ["one", "two"] {
        hub.publish(user(text), routing("asker", "echo")).await;
    }
    let (first, _) = peer.delivery().await;
    let (second, _) = peer.delivery().await;
    drop(peer);
    let mut again = hub.reconnect(agent("echo", "i", 9), &[&second]).await;
    let (note, _) = again.delivery().await;
    assert_eq!((note.position, note.attempt), (first.position, 1));
    again.settle().await;
    assert_eq!(again.words_so_far().await, [""; 0], "the other was claimed");
}

#[tokio::test]
async fn others_get_what_an_instance_had_once_its_lease_is_over() {
    let hub = TestHub::with(short_lease()).await;
    let mut lost = hub.connect(agent("echo", "lost", 9)).await;
    let mut other = hub.connect(agent("echo", "other", 0)).await;
    hub.publish(user("hi"), routing("asker", "echo")).await;
    assert_eq!(lost.word().await, "message hi");
    other.give_credit(0, 9).await;
    let start = std::time::Instant::now();
    drop(lost);
    assert_eq!(other.words_so_far().await, [""; 0], "not at once");
    other.beat_until_delivered().await;
    assert!(start.elapsed() >= LEASE);
    assert_eq!(other.word().await, "message hi (attempt 2)");
}

#[tokio::test]
async fn a_goodbye_hands_over_at_once() {
    let hub = TestHub::start().await;
    let mut leaving = hub.connect(agent("echo", "leaving", 9)).await;
    let mut other = hub.connect(agent("echo", "other", 0)).await;
    hub.publish(user("hi"), routing("asker", "echo")).await;
    assert_eq!(leaving.word().await, "message hi");
    other.give_credit(0, 9).await;
    leaving.say_goodbye().await;
    assert_eq!(other.word().await, "message hi (attempt 2)");
}

#[tokio::test]
async fn instances_share_a_mailbox_and_a_context_stays_with_one() {
    let hub = TestHub::start().await;
    let mut a = hub.connect(agent("echo", "a", 1)).await;
    hub.publish(in_context("x", "x1"), routing("asker", "echo"))
        .await;
    let (x1, _) = a.delivery().await;
    let mut b = hub.connect(agent("echo", "b", 9)).await;
    for (context, text) in [("x", "x2"), ("y", "y1")] {
        hub.publish(in_context(context, text), routing("asker", "echo"))
            .await;
    }
    assert_eq!(
        b.words_so_far().await,
        ["message y1"],
        "x is with the other one"
    );
    a.give_credit(0, 1).await;
    assert_eq!(a.words_so_far().await, ["message x2"]);
    // Once it has no delivery of the context left, any instance may take the next one.
    a.acknowledge(&x1).await;
    a.settle().await;
    hub.publish(in_context("x", "x3"), routing("asker", "echo"))
        .await;
    assert_eq!(b.words_so_far().await, [""; 0]);
}

/// The last acknowledgement of a context releases it: another instance is woken, though nothing new has arrived.
#[tokio::test]
async fn a_context_that_becomes_free_goes_to_whoever_has_credit() {
    let hub = TestHub::start().await;
    let mut a = hub.connect(agent("echo", "a", 1)).await;
    for text in ["x1", "x2", "x3"] {
        hub.publish(in_context("x", text), routing("asker", "echo"))
            .await;
    }
    let (x1, _) = a.delivery().await;
    let mut b = hub.connect(agent("echo", "b", 9)).await;
    assert_eq!(b.words_so_far().await, [""; 0]);
    a.acknowledge(&x1).await;
    // It only reads: no heartbeat of its own wakes it.
    assert_eq!(b.word().await, "message x2");
    let (x3, _) = b.delivery().await;
    drop(b);
    drop(x3);

    let mut c = hub.connect(agent("mill", "a", 1)).await;
    hub.publish(in_context("x", "again"), routing("asker", "mill"))
        .await;
    let (note, _) = c.delivery().await;
    let mut d = hub.connect(agent("mill", "b", 9)).await;
    assert_eq!(d.words_so_far().await, [""; 0]);
    c.refuse(&note, Duration::ZERO).await;
    assert_eq!(d.word().await, "message again (attempt 2)");
}

/// Instance subscriptions with one name are separate: both instances see everything.
#[tokio::test]
async fn instance_subscriptions_are_each_instances_own() {
    let hub = TestHub::start().await;
    let subscriptions = || vec![of_instance("own", 9)];
    let mut a = hub.connect(hello("echo", "a", subscriptions())).await;
    let mut b = hub.connect(hello("echo", "b", subscriptions())).await;
    for text in ["1", "2"] {
        hub.publish(user(text), routing("asker", "echo")).await;
    }
    for peer in [&mut a, &mut b] {
        assert_eq!(peer.words_so_far().await, ["message 1", "message 2"]);
    }
    a.say_goodbye().await;
    hub.publish(user("3"), routing("asker", "echo")).await;
    assert_eq!(b.words_so_far().await, ["message 3"]);
}

/// A peer may choose any instance id, also one that looks like the hub's own for older streams.
#[tokio::test]
async fn an_instance_named_like_a_stream_is_an_instance() {
    let hub = TestHub::start().await;
    let subscriptions = || vec![of_instance("own", 9)];
    let peer = hub
        .connect(hello("echo", "stream-1", subscriptions()))
        .await;
    drop(peer);
    let mut older = hub.messages("echo").await;
    hub.publish(user("1"), routing("asker", "echo")).await;
    assert_eq!(older.text().await, "1");
    let mut again = hub
        .connect(hello("echo", "stream-1", subscriptions()))
        .await;
    assert_eq!(again.words_so_far().await, ["message 1"]);
}

/// spec: HUB-8
#[tokio::test]
async fn an_address_may_name_a_version() {
    let hub = TestHub::start().await;
    let version = |version: &str| AgentCard {
        version: version.into(),
        ..card("echo")
    };
    let connect = |v: &str| Hello {
        agent_card: Some(version(v)),
        ..hello("echo", v, vec![durable("work", 9)])
    };
    let mut one = hub.connect(connect("1.0")).await;
    let mut two = hub.connect(connect("2.0")).await;
    for (to, text) in [("echo@1.0", "for one"), ("echo@2.0", "for two")] {
        hub.publish(user(text), routing("asker", to)).await;
    }
    assert_eq!(two.words_so_far().await, ["message for two"]);
    assert_eq!(one.words_so_far().await, ["message for one"]);
    let request = |id: &str| GetAgentRequest {
        agent_id: id.into(),
    };
    let entry = within(hub.client.clone().get_agent(request("echo@1.0"))).await;
    let entry = entry.expect("known").into_inner();
    assert_eq!(entry.agent_card, Some(version("1.0")));
    assert_eq!(entry.versions, ["1.0", "2.0"]);
    assert_eq!(entry.instances.len(), 2);
    let unknown = within(hub.client.clone().get_agent(request("echo@3.0"))).await;
    assert!(unknown.is_err());
}

/// spec: HUB-8
#[tokio::test]
async fn an_older_client_gets_mail_for_the_version_it_registered() {
    let hub = TestHub::start().await;
    hub.register(card("echo"), &[]).await;
    let mut messages = hub.messages("echo").await;
    hub.publish(user("hi"), routing("asker", "echo@1.0.0"))
        .await;
    assert_eq!(messages.text().await, "hi");
}

/// A durable subscription keeps its mail without instances, and its filter can change.
#[tokio::test]
async fn a_durable_subscription_outlives_its_instances() {
    let hub = TestHub::with(short_lease()).await;
    hub.connect(agent("echo", "i", 0)).await.say_goodbye().await;
    for text in ["directed", "to all"] {
        let to = if text == "directed" { "echo" } else { "" };
        hub.publish(in_context("c", text), routing("asker", to))
            .await;
    }
    let mut next = hub.connect(agent("echo", "i2", 9)).await;
    assert_eq!(
        next.words_so_far().await,
        ["message directed", "message to all"]
    );
}
