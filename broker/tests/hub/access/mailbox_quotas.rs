//! Quotas of what waits in mailboxes: issue 25, "quotas per principal and namespace: … mailbox bytes; RESOURCE_EXHAUSTED with when to come back".

use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{AgentEventMetadata, AgentFrame, Durability, Publish, QuotaUse, publish::Payload},
};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::Guarded;
use crate::harness::{routing, user};

/// Bob may have 10,000 bytes waiting, all others as much as they like.
const OF_BOB: &str = r#"
    [principals.alice]
    roles = ["user"]

    [principals.bob]
    roles = ["user"]

    [principals.carol]
    roles = ["agent"]

    [quotas.principals.bob]
    mailbox_bytes = 10_000
"#;

struct Scene {
    hub: Guarded,
    alice: String,
    bob: String,
    carol: String,
}

impl Scene {
    async fn new(policy: &str) -> Self {
        let hub = Guarded::with_policy(policy).await;
        Self {
            alice: hub.join("alice").await,
            bob: hub.join("bob").await,
            carol: hub.join("carol").await,
            hub,
        }
    }

    /// Sends a kilobyte of alice's to an agent.
    async fn say(&self, to: &str) -> Result<(), Status> {
        let routing = routing("alice", to);
        self.hub.publish(&self.alice, kilobyte(), routing).await
    }

    /// Sends until it is refused: how much went through, and the refusal.
    async fn fill(&self, to: &str) -> (usize, Status) {
        for sent in 0..100 {
            if let Err(refused) = self.say(to).await {
                return (sent, refused);
            }
        }
        panic!("a hundred kilobytes wait");
    }
}

fn kilobyte() -> Message {
    user(&"x".repeat(1000))
}

/// The owner of a full mailbox is at fault, its sender is told to come back; over a restart, and until the owner has read.
#[tokio::test]
async fn mail_for_a_full_owner_is_refused_until_it_is_read() {
    let mut scene = Scene::new(OF_BOB).await;
    let (sent, refused) = scene.fill("bob").await;
    assert!((6..=9).contains(&sent), "{sent} of a kilobyte each");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let said = refused.message();
    assert!(said.contains("the mailboxes of \"bob\" are full"), "{said}");
    assert!(said.contains("come back in 30 s"), "nobody reads: {said}");
    assert!(!said.contains("10000"), "not a quota of others: {said}");
    let details = refused.get_details_retry_info().expect("when to come back");
    assert_eq!(details.retry_delay.map(|delay| delay.as_secs()), Some(30));
    scene.say("carol").await.expect("carol has no quota");
    for round in 0..2 {
        let used = scene.hub.quotas(&scene.bob).await;
        assert_eq!(used.len(), 1, "{used:?}");
        let QuotaUse {
            whose, what, used, ..
        } = &used[0];
        assert_eq!((&**whose, &**what), ("\"bob\"", "mailbox bytes"));
        assert!((8_000..=10_000).contains(used), "{used}");
        scene.say("bob").await.expect_err("it is full");
        if round == 0 {
            scene.hub.restart().await;
        }
    }
    let mut bob = scene.hub.peer(&scene.bob, "bob", 100).await;
    for _ in 0..sent {
        let (note, _) = bob.delivery().await;
        bob.acknowledge(&note).await;
    }
    bob.settle().await;
    assert_eq!(
        scene.hub.quotas(&scene.bob).await[0].used,
        0,
        "he has read all"
    );
    let (again, refused) = scene.fill("bob").await;
    assert_eq!(again, sent, "there is room again");
    assert!(
        refused.message().contains("come back in 1000 ms"),
        "he is there: {refused:?}"
    );
}

/// Mail on its way counts, so that one frame brings no more than fits.
#[tokio::test]
async fn a_frame_brings_no_more_than_fits() {
    let scene = Scene::new(OF_BOB).await;
    let _bob = scene.hub.peer(&scene.bob, "bob", 0).await;
    let mut fits = Vec::new();
    for durability in [Durability::Unspecified, Durability::Memory] {
        let mut alice = scene.hub.peer(&scene.alice, "alice", 0).await;
        let publish = |sequence| Publish {
            sequence,
            payload: Some(Payload::Message(kilobyte())),
            routing: Some(AgentEventMetadata {
                durability: durability.into(),
                ..routing("alice", "bob")
            }),
            ..Default::default()
        };
        let frame = AgentFrame {
            publish: (1..=40).map(publish).collect(),
            ..Default::default()
        };
        alice.send(frame).await;
        let mut accepted = 0;
        for _ in 0..40 {
            let result = alice.result().await;
            if result.code == 0 {
                accepted += 1;
            } else {
                assert_eq!(result.code, Code::ResourceExhausted as i32, "{result:?}");
                let after = result.retry_after.expect("when to come back");
                assert_eq!((after.seconds, after.nanos), (1, 0));
            }
        }
        fits.push(accepted);
    }
    assert!((6..=9).contains(&fits[0]), "{fits:?}");
    assert!(fits[1] <= 1, "it is full already: {fits:?}");
}

/// A namespace at its quota takes nothing for any of its agents, and says whose quota it is.
#[tokio::test]
async fn a_namespace_has_a_quota_of_all_its_mailboxes() {
    let policy = OF_BOB.replace("quotas.principals.bob", "quotas.namespaces.default");
    let scene = Scene::new(&policy).await;
    let (sent, _) = scene.fill("bob").await;
    assert!((6..=9).contains(&sent), "{sent}");
    let refused = scene.say("carol").await.expect_err("no agent takes any");
    let said = refused.message();
    assert!(
        said.starts_with("namespace \"default\" has a quota of 10000 mailbox bytes, and has "),
        "{said}"
    );
    // An agent that nobody has registered counts for the namespace, too.
    scene.say("unknown").await.expect_err("no agent takes any");
}

/// Work that was accepted comes to its end, whoever does not read of it.
#[tokio::test]
async fn a_task_ends_though_its_requester_is_full() {
    let scene = Scene::new(OF_BOB).await;
    let asked = scene.hub.say(&scene.bob, "bob", "carol", "t").await;
    asked.expect("carol has no quota");
    scene.fill("bob").await;
    let mut carol = scene.hub.peer(&scene.carol, "carol", 8).await;
    let result = carol.report("t", TaskState::Working).await;
    assert_eq!(result.code, 0, "{result:?}");
    let result = carol.report("t", TaskState::Completed).await;
    assert_eq!(result.code, 0, "{result:?}");
    let refused = scene.say("bob").await;
    refused.expect_err("a new message waits until there is room");
}
