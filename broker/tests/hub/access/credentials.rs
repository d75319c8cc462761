//! Admission by credentials, and its end.

use std::time::Duration;

use agenthub_proto::agenthub::{SubscribeToMessagesRequest, SubscribeToTasksRequest};
use tonic::Code;

use super::{Guarded, with};
use crate::{
    harness::within,
    peer::{agent, hello},
};

/// Issue 25: without any identity all stays as it is; once one exists, every call needs one, and streams of nobody end.
#[tokio::test]
async fn the_first_token_shuts_the_door() {
    let hub = Guarded::start().await;
    hub.register("", "echo").await.expect("nobody needs one");
    let stream = hub.connect("", hello("old", "1", vec![])).await;
    let mut stream = stream.expect("nobody needs one");
    within(stream.message()).await.expect("a welcome");
    let mut client = hub.client.clone();
    let events = client.subscribe_to_messages(SubscribeToMessagesRequest {
        agent_id: "old".to_owned(),
        ..Default::default()
    });
    let mut events = within(events).await.expect("nobody needs one").into_inner();
    hub.token("alice", "user").await;
    let ended = within(events.message()).await.expect_err("it ends");
    assert_eq!(ended.code(), Code::Unavailable, "a client comes back");
    let refused = hub.say("", "old", "echo", "").await.expect_err("nobody");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("AGENTHUB_TOKEN"), "{refused:?}");
    let wrong = hub.say("ah_wrong", "old", "echo", "").await;
    assert_eq!(wrong.expect_err("wrong").code(), Code::Unauthenticated);
}

/// Issue 25: a revoked one ends its streams; so does an expired one.
#[tokio::test]
async fn streams_end_with_their_token() {
    let hub = Guarded::start().await;
    let (alice, id) = hub.token_of("alice", "agent", None).await;
    let mut connected = hub
        .connect(&alice, agent("alice", "1", 8))
        .await
        .expect("alice");
    within(connected.message()).await.expect("a welcome");
    let subscribe = |agent: &str| SubscribeToTasksRequest {
        agent_id: agent.to_owned(),
        ..Default::default()
    };
    let calls = || hub.client.clone();
    let open = async |token: &str, agent: &str| {
        let opened = within(calls().subscribe_to_tasks(with(token, subscribe(agent)))).await;
        opened.expect("its own").into_inner()
    };
    let mut alices = open(&alice, "alice~2").await;
    let lasts = Duration::from_secs(3);
    let (bob, _) = hub.token_of("bob", "agent", Some(lasts)).await;
    // Once the hub knows the later token, it knows the earlier one.
    let carol = hub.token("carol", "agent").await;
    let mut bobs = open(&bob, "bob").await;
    let mut carols = open(&carol, "carol").await;
    hub.store.revoke(&id).expect("it is there");
    let frames = async {
        loop {
            if let Err(status) = connected.message().await {
                return status;
            }
        }
    };
    let (one, two) = tokio::join!(within(frames), within(alices.message()));
    let two = two.expect_err("it ends");
    for ended in [one, two] {
        assert_eq!(ended.code(), Code::Unauthenticated, "{ended:?}");
        assert!(ended.message().contains("was revoked"), "{ended:?}");
    }
    let ended = within(bobs.message()).await.expect_err("it ends");
    assert!(ended.message().contains("has expired"), "{ended:?}");
    let still = tokio::time::timeout(Duration::from_millis(600), carols.message()).await;
    assert!(still.is_err(), "the token of another: {still:?}");
}
