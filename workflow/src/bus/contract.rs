//! Contract tests of every bus.

use std::{collections::BTreeSet, time::Duration};

use async_trait::async_trait;
use serde_json::json;
use tokio::time::timeout;

use super::{Bus, Message};

const PATIENCE: Duration = Duration::from_secs(20);

/// The topics of a bus, as those see them who subscribe.
#[async_trait]
pub(crate) trait Topics: Sync {
    /// Subscribes to a topic, under a name that nobody else has. It gets what is published from now on.
    async fn subscriber(&self, name: &str, topic: &str) -> Box<dyn Subscriber>;
}

/// A subscriber of a topic.
#[async_trait]
pub(crate) trait Subscriber: Send {
    /// The next message.
    async fn next(&mut self) -> Message;
}

/// Checks all guarantees of a bus.
pub(crate) async fn keeps_its_promises(bus: &dyn Bus, topics: &dyn Topics) {
    let checks = async {
        reaches_every_subscriber_in_order(bus, topics).await;
        reaches_nobody_else(bus, topics).await;
        repeats_ids(bus, topics).await;
    };
    timeout(PATIENCE, checks).await.expect("messages come");
}

fn message(key: &str, number: usize) -> Message {
    Message {
        id: format!("{key}.{number}"),
        key: key.to_owned(),
        body: json!({ "number": number, "of": key, "deep": { "list": [1, "two", null] } }),
    }
}

async fn reaches_every_subscriber_in_order(bus: &dyn Bus, topics: &dyn Topics) {
    let mut subscribers = Vec::new();
    for name in ["one", "two"] {
        subscribers.push(topics.subscriber(name, "steps").await);
    }
    let sent: Vec<Message> = (0..200).map(|n| message(["a", "b"][n % 2], n)).collect();
    for batch in sent.chunks(32) {
        bus.publish("steps", batch).await.expect("it is taken");
    }
    for subscriber in &mut subscribers {
        let mut got = Vec::new();
        for _ in 0..sent.len() {
            got.push(subscriber.next().await);
        }
        for key in ["a", "b"] {
            let of = |all: &[Message]| -> Vec<Message> {
                all.iter().filter(|m| m.key == key).cloned().collect()
            };
            assert_eq!(of(&got), of(&sent));
        }
    }
}

async fn reaches_nobody_else(bus: &dyn Bus, topics: &dyn Topics) {
    let mut other = topics.subscriber("other", "another-topic").await;
    bus.publish("nobody-listens", &[message("c", 1)])
        .await
        .expect("it is taken");
    bus.publish("steps", &[message("c", 2)])
        .await
        .expect("it is taken");
    bus.publish("another-topic", &[message("c", 3)])
        .await
        .expect("it is taken");
    assert_eq!(other.next().await, message("c", 3));
}

async fn repeats_ids(bus: &dyn Bus, topics: &dyn Topics) {
    let mut subscriber = topics.subscriber("repeated", "repeats").await;
    let sent: Vec<Message> = (0..4).map(|n| message("d", n)).collect();
    bus.publish("repeats", &sent[..3])
        .await
        .expect("it is taken");
    bus.publish("repeats", &sent).await.expect("it is taken");
    let mut seen = BTreeSet::new();
    let mut first = Vec::new();
    while first.len() < sent.len() {
        let got = subscriber.next().await;
        if seen.insert(got.id.clone()) {
            first.push(got);
        }
    }
    assert_eq!(first, sent);
}
