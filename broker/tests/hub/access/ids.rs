//! Ids that a caller may be, and whose they are.

use agenthub_proto::agenthub::{
    AgentFrame, SubscribeToAgentEventsRequest, SubscribeToMessagesRequest, SubscribeToTasksRequest,
    UnregisterAgentRequest,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use super::{Guarded, denied, with};
use crate::{
    harness::{routing, user, within},
    peer::{agent, hello},
};

/// Issue 25: `from_agent_id` is an id that the caller may be, always: Connect, publish, register, subscribe as.
#[tokio::test]
async fn nobody_acts_as_another() {
    let hub = Guarded::start().await;
    let alice = hub.token("alice", "user").await;
    let mut client = hub.client.clone();
    for mine in ["alice", "alice~cli-1"] {
        hub.say(&alice, mine, "echo", "").await.expect("its own");
    }
    denied(hub.say(&alice, "bob", "echo", "").await, "be:bob");
    denied(hub.say(&alice, "", "echo", "").await, "be:");
    denied(hub.report(&alice, "bob", "t").await, "be:bob");
    let registered = hub.register(&alice, "bob").await.expect_err("not its own");
    assert!(registered.contains("be:bob"), "{registered}");
    denied(hub.connect(&alice, agent("bob", "1", 8)).await, "be:bob");
    denied(
        hub.connect(&alice, hello("bob", "1", vec![])).await,
        "be:bob",
    );
    let messages = SubscribeToMessagesRequest {
        agent_id: "bob".to_owned(),
        ..Default::default()
    };
    denied(
        client.subscribe_to_messages(with(&alice, messages)).await,
        "be:bob",
    );
    let tasks = SubscribeToTasksRequest {
        agent_id: "bob".to_owned(),
        ..Default::default()
    };
    denied(
        client.subscribe_to_tasks(with(&alice, tasks)).await,
        "be:bob",
    );
    let observing = SubscribeToTasksRequest {
        agent_id: "alice".to_owned(),
        observe: true,
        ..Default::default()
    };
    denied(
        client.subscribe_to_tasks(with(&alice, observing)).await,
        "see:events",
    );
    let events = SubscribeToAgentEventsRequest {
        agent_id: "alice".to_owned(),
        observe: true,
        ..Default::default()
    };
    denied(
        client.subscribe_to_agent_events(with(&alice, events)).await,
        "see:events",
    );
    let unregister = UnregisterAgentRequest {
        agent_id: "bob".to_owned(),
        reason: String::new(),
    };
    denied(
        client.unregister_agent(with(&alice, unregister)).await,
        "be:bob",
    );
}

/// A stream publishes in the name of its agent alone, whatever else its caller may be.
#[tokio::test]
async fn a_stream_publishes_from_its_own_ids_alone() {
    use agenthub_proto::agenthub::{Publish, publish::Payload};
    let hub = Guarded::start().await;
    let alice = hub.token("alice", "user").await;
    let (frames, sent) = tokio::sync::mpsc::channel(4);
    let publish = |sequence: u64, from: &str| Publish {
        sequence,
        payload: Some(Payload::Message(user("hi"))),
        routing: Some(routing(from, "echo")),
        ..Default::default()
    };
    let first = AgentFrame {
        hello: Some(hello("alice", "1", vec![])),
        publish: vec![publish(1, "bob"), publish(2, ""), publish(3, "alice~2")],
        ..Default::default()
    };
    frames.send(first).await.expect("there is room");
    let mut client = hub.client.clone();
    let stream = client.connect(with(&alice, ReceiverStream::new(sent)));
    let mut stream = within(stream).await.expect("its own").into_inner();
    let mut codes = Vec::new();
    while codes.len() < 3 {
        let frame = within(stream.message()).await.expect("it goes on");
        let results = frame.expect("it goes on").result;
        codes.extend(results.iter().map(|result| (result.sequence, result.code)));
    }
    let denied = Code::PermissionDenied as i32;
    assert_eq!(codes, [(1, denied), (2, 0), (3, denied)]);
}

/// Issue 25: an id belongs to the principal that registered it first, also after a restart of the hub.
#[tokio::test]
async fn ids_belong_to_who_registered_them_first() {
    let mut hub = Guarded::start().await;
    hub.register("", "open")
        .await
        .expect("nobody needs one yet");
    let (alice, bob) = (
        hub.token("alice", "admin").await,
        hub.token("bob", "admin").await,
    );
    hub.register(&alice, "mine").await.expect("it is free");
    hub.register(&alice, "open")
        .await
        .expect("it belongs to nobody");
    for round in 0..2 {
        for id in ["mine", "open"] {
            let refused = hub.register(&bob, id).await.expect_err("it is alice's");
            assert!(refused.contains("belongs to \"alice\""), "{refused}");
            denied(hub.say(&bob, id, "echo", "").await, "belongs to");
            denied(
                hub.connect(&bob, hello(id, "1", vec![])).await,
                "belongs to",
            );
            hub.register(&alice, id).await.expect("her own");
        }
        if round == 0 {
            hub.restart().await;
        }
    }
    let unregister = UnregisterAgentRequest {
        agent_id: "mine".to_owned(),
        reason: String::new(),
    };
    let gone = within(
        hub.client
            .clone()
            .unregister_agent(with(&alice, unregister)),
    )
    .await;
    gone.expect("her own");
    hub.register(&bob, "mine").await.expect("it is free again");
}
