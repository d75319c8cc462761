//! One event on several subscriptions of a stream.

use agenthub_proto::agenthub::{AgentEventMetadata, AgentFrame, Credit, Durability, Filter};

use crate::{
    harness::{TestHub, in_context, routing},
    peer::{durable, filtered, hello},
};

/// promise 2
#[tokio::test]
async fn each_subscription_of_a_stream_knows_its_own_deliveries() {
    let hub = TestHub::start().await;
    let of = |context: &str| {
        let filter = Filter {
            contexts: vec![context.to_owned()],
            ..Default::default()
        };
        filtered(durable(context, 0), filter)
    };
    let both = vec![of("x"), of("y"), durable("all", 0)];
    let mut peer = hub.connect(hello("echo", "i", both.clone())).await;
    for context in ["x", "y"] {
        let routing = AgentEventMetadata {
            durability: Durability::Memory.into(),
            ..routing("asker", "echo")
        };
        hub.publish(in_context(context, "progress"), routing).await;
    }
    let event = in_context("x", "work");
    hub.publish(event, routing("asker", "echo")).await;
    peer.send(AgentFrame {
        credit: (0..3).map(|subscription| credit(subscription, 9)).collect(),
        ..Default::default()
    })
    .await;
    let mut copies = Vec::new();
    for _ in 0..6 {
        let (note, event) = peer.delivery().await;
        match (event.context_id(), note.subscription) {
            ("x", 0 | 2) | ("y", 1 | 2) => {}
            (context, other) => panic!("context {context} on subscription {other}"),
        }
        copies.extend((!note.position.is_empty()).then_some(note));
    }
    let [first, second] = copies.as_slice() else {
        panic!("the event has two copies: {copies:?}");
    };
    assert_eq!(first.position, second.position);
    // One is acknowledged; the other is redelivered, on its own subscription.
    peer.acknowledge(first).await;
    peer.settle().await;
    peer.say_goodbye().await;
    let mut again = hub.connect(hello("echo", "j", both)).await;
    for subscription in 0..3 {
        again.give_credit(subscription, 9).await;
    }
    let (note, _) = again.delivery().await;
    assert_eq!((note.subscription, note.attempt), (second.subscription, 2));
    assert_eq!(again.words_so_far().await, [""; 0]);
}

fn credit(subscription: u32, messages: u32) -> Credit {
    Credit {
        subscription,
        messages,
    }
}
